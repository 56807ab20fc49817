// RUN: sinter-lsp-server --lit-test < %s | FileCheck %s --strict-whitespace
{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":1,"rootPath":"mlir","capabilities":{},"trace":"off"}}
// -----
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{
  "uri":"test:///graph.mlir",
  "languageId":"mlir",
  "version":1,
  "text":"func.func @f(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {\n  %0 = sinter.relu %x : (tensor<2x3xf32>) -> tensor<2x4xf32>\n  return %0 : tensor<2x4xf32>\n}"
}}}
// CHECK:      "method": "textDocument/publishDiagnostics",
// CHECK:        "diagnostics": [
// CHECK:            "message": "{{.*}}sinter.relu
// CHECK:        "uri": "test:///graph.mlir"
// -----
{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{
  "textDocument":{"uri":"test:///graph.mlir"},
  "position":{"line":1,"character":10}
}}
// -----
{"jsonrpc":"2.0","id":3,"method":"shutdown"}
// -----
{"jsonrpc":"2.0","method":"exit"}
