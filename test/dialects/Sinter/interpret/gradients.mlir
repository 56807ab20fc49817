// RUN: sinter-opt %s --sinter-evaluate -o /dev/null
// Expected values were computed with PyTorch (automatic differentiation); check ops judge.

func.func @rms_norm_grad() {
  %c0 = sinter.constant dense<[[[-1.181, 0.738, -1.099], [-0.331, -0.84, 1.449]], [[0.568, 2.432, 0.642], [0.845, 0.841, -0.607]]]> : tensor<2x2x3xf64>
  %c1 = sinter.constant dense<[-0.07, 1.35, -0.397]> : tensor<3xf64>
  %c2 = sinter.constant dense<[[[0.189, -0.021, 0.609], [-0.365, -0.152, 0.242]], [[0.103, -0.865, 0.896], [-1.298, -1.201, -1.282]]]> : tensor<2x2x3xf64>
  %r:2 = sinter.rms_norm_grad %c0, %c1, %c2 {eps = 0.1} : (tensor<2x2x3xf64>, tensor<3xf64>, tensor<2x2x3xf64>) -> (tensor<2x2x3xf64>, tensor<2x3xf64>)
  check.expect_const %r#0, dense<[[[0.07088582817267039, -0.07845582953849063, -0.1480967018851281], [0.027138546777726105, -0.19199274541219807, -0.10356411551813291]], [[0.16025709220524845, -0.06079481061105474, -0.047224178233009506], [0.8819529276344198, -1.1731993354765264, 0.05446276961349694]]]> : tensor<2x2x3xf64> : tensor<2x2x3xf64>
  check.expect_const %r#1, dense<[[-0.09151806779198578, 0.10888364589894091, -0.2856272350774584], [-1.2757091863363843, -2.5923708153488723, 1.3103188296273234]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @layer_norm_grad() {
  %c0 = sinter.constant dense<[[[0.967, -0.361, -0.971], [-1.136, 0.421, -1.055]], [[-1.272, 0.614, -1.197], [-0.322, -0.007, -0.445]]]> : tensor<2x2x3xf64>
  %c1 = sinter.constant dense<[-0.054, 1.339, -0.517]> : tensor<3xf64>
  %c2 = sinter.constant dense<[[[-1.259, -1.837, -0.205], [-0.352, 0.265, -0.464]], [[-0.479, -0.721, -0.52], [0.16, -0.38, 0.1]]]> : tensor<2x2x3xf64>
  %r:3 = sinter.layer_norm_grad %c0, %c1, %c2 {eps = 0.1} : (tensor<2x2x3xf64>, tensor<3xf64>, tensor<2x2x3xf64>) -> (tensor<2x2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
  check.expect_const %r#0, dense<[[[0.6383259108948854, -1.8847717703345923, 1.2464458594397068], [-0.1471905225842478, 0.025421030037213133, 0.12176949254703456]], [[-0.10305429077552272, -0.0985383691270125, 0.20159265990253508], [0.4435457288362607, -0.6712882279622522, 0.22774249912599176]]]> : tensor<2x2x3xf64> : tensor<2x2x3xf64>
  check.expect_const %r#1, dense<[[-1.3321792438355307, 0.8485417116928304, 0.4761990592425451], [0.30960892077606406, -1.2184994858349931, 0.27334660982606357]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %r#2, dense<[[-1.6109999999999998, -1.572, -0.669], [-0.31899999999999995, -1.101, -0.42000000000000004]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @cross_entropy_grad() {
  %c0 = sinter.constant dense<[[-3.2729999999999997, -4.0649999999999995, 0.675, -3.327, 3.51], [2.151, -5.994, 0.8160000000000001, -3.306, 0.099], [0.132, -5.964, -0.6990000000000001, -0.768, 2.886]]> : tensor<3x5xf64>
  %c1 = sinter.constant dense<[4, -1, 0]> : tensor<3xi32>
  %c2 = sinter.constant dense<[1.901, 0.479, -1.576]> : tensor<3xf64>
  %r3 = sinter.cross_entropy_grad %c0, %c1, %c2 : (tensor<3x5xf64>, tensor<3xi32>, tensor<3xf64>) -> tensor<3x5xf64>
  check.expect_const %r3, dense<[[0.0020289347557959614, 0.0009189816763435133, 0.10516293449106384, 0.001922277929638479, -0.11003312885284133], [0.0, 0.0, 0.0, 0.0, 0.0], [1.4861982159139655, -0.00020222079022825815, -0.039118865429732086, -0.03651068079995779, -1.410366448894047]]> : tensor<3x5xf64> : tensor<3x5xf64>
  return
}

func.func @cross_entropy_grad_z_loss() {
  %c0 = sinter.constant dense<[[-3.2729999999999997, -4.0649999999999995, 0.675, -3.327, 3.51], [2.151, -5.994, 0.8160000000000001, -3.306, 0.099], [0.132, -5.964, -0.6990000000000001, -0.768, 2.886]]> : tensor<3x5xf64>
  %c1 = sinter.constant dense<[4, -1, 0]> : tensor<3xi32>
  %c2 = sinter.constant dense<[1.734, 0.348, -0.941]> : tensor<3xf64>
  %r3 = sinter.cross_entropy_grad %c0, %c1, %c2 {z_loss = 0.25 : f64} : (tensor<3x5xf64>, tensor<3xi32>, tensor<3xf64>) -> tensor<3x5xf64>
  check.expect_const %r3, dense<[[0.005153840498332667, 0.0023343702734821424, 0.26713179867182246, 0.004882913959909595, 2.8153614643459806], [0.0, 0.0, 0.0, 0.0, 0.0], [0.8070319479716987, -0.00030167691680322136, -0.05835828600195333, -0.05446734532925731, -2.104012161087919]]> : tensor<3x5xf64> : tensor<3x5xf64>
  return
}

func.func @embedding_grad() {
  %c0 = sinter.constant dense<[[1, 3], [1, -5]]> : tensor<2x2xi32>
  %c1 = sinter.constant dense<[[[0.907, 0.018, -0.615], [-0.634, -0.993, 0.048]], [[1.069, -0.325, 0.421], [1.876, -1.215, 0.258]]]> : tensor<2x2x3xf64>
  %r2 = sinter.embedding_grad %c0, %c1 {rows = 3 : i64} : (tensor<2x2xi32>, tensor<2x2x3xf64>) -> tensor<3x3xf64>
  check.expect_const %r2, dense<[[1.876, -1.215, 0.258], [1.976, -0.307, -0.194], [-0.634, -0.993, 0.048]]> : tensor<3x3xf64> : tensor<3x3xf64>
  return
}

func.func @embedding_grad_into() {
  %c0 = sinter.constant dense<[[1, 3], [1, -5]]> : tensor<2x2xi32>
  %c1 = sinter.constant dense<[[[0.907, 0.018, -0.615], [-0.634, -0.993, 0.048]], [[1.069, -0.325, 0.421], [1.876, -1.215, 0.258]]]> : tensor<2x2x3xf64>
  %c2 = sinter.constant dense<[[-0.306, -1.059, -1.026], [-0.015, 0.434, -0.532], [0.054, 0.722, 0.297]]> : tensor<3x3xf64>
  %r3 = sinter.embedding_grad %c0, %c1, %c2 {rows = 3 : i64} : (tensor<2x2xi32>, tensor<2x2x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  check.expect_const %r3, dense<[[1.5699999999999998, -2.274, -0.768], [1.961, 0.127, -0.726], [-0.58, -0.271, 0.345]]> : tensor<3x3xf64> : tensor<3x3xf64>
  return
}
