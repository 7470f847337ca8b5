module @jit_convolution attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=8]> {stablehlo.mesh = {axes = [{name = "d", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<64x6x6x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}, {}, {}]>}, %arg1: tensor<3x3x128x128xf8E4M3FN> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}) -> (tensor<64x6x6x128xbf16> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}, {}, {}]>}) {
    %0 = stablehlo.convert %arg0 : (tensor<64x6x6x128xf32>) -> tensor<64x6x6x128xbf16>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"d"}, {}, {}, {}]> : tensor<64x6x6x128xbf16>
    %2 = stablehlo.convert %1 : (tensor<64x6x6x128xbf16>) -> tensor<64x6x6x128xf8E4M3FN>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"d"}, {}, {}, {}]> : tensor<64x6x6x128xf8E4M3FN>
    %4 = stablehlo.convolution(%3, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<64x6x6x128xf8E4M3FN>, tensor<3x3x128x128xf8E4M3FN>) -> tensor<64x6x6x128xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"d"}, {}, {}, {}]> : tensor<64x6x6x128xf32>
    %6 = call @relu(%5) : (tensor<64x6x6x128xf32>) -> tensor<64x6x6x128xf32>
    %7 = stablehlo.convert %6 : (tensor<64x6x6x128xf32>) -> tensor<64x6x6x128xbf16>
    %8 = sdy.sharding_constraint %7 <@mesh, [{"d"}, {}, {}, {}]> : tensor<64x6x6x128xbf16>
    return %8 : tensor<64x6x6x128xbf16>
  }
  func.func private @relu(%arg0: tensor<64x6x6x128xf32>) -> tensor<64x6x6x128xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x6x6x128xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"d"}, {}, {}, {}]> : tensor<64x6x6x128xf32>
    %2 = stablehlo.maximum %arg0, %1 : tensor<64x6x6x128xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"d"}, {}, {}, {}]> : tensor<64x6x6x128xf32>
    return %3 : tensor<64x6x6x128xf32>
  }
}
