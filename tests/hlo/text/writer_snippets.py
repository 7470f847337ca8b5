"""Modules for writer_oracle_test.py, made so that every rule of the printer is met."""

def _module(lines, parameters="x = f32[4,4] parameter(0)", before=""):
    body = "\n".join(f"  {line}" for line in lines)
    return f"HloModule m\n{before}\nENTRY e {{\n  {parameters}\n{body}\n  ROOT end = () tuple()\n}}\n"


def _floats():
    values = ["0.1", "1e-5", "0.00012345678", "123456.7", "1234567", "16777216", "1e10", "1e-45", "3e-39", "1.17549435e-38",
              "3.40282347e38", "0.333333333", "1e6", "999999", "9999995", "0.0001", "0.00001", "123456789", "-2.5e-7",
              "100000", "1e5", "33554434", "8388608.5", "1e-10", "7e22", "5.0e-324", "6.02214076e23", "0.30000000000000004"]
    doubles = values + ["1e300", "1e15", "1e16", "123456789012345678", "1.7976931348623157e308", "2.2250738585072014e-308",
                        "4.9e-324", "1e-300", "0.1234567890123456789", "1e22", "1e23"]
    floats = ", ".join(v for v in values)
    return _module([
        f"a = f32[{len(values)}] constant({{{floats}}})",
        f"b = f64[{len(doubles)}] constant({{{', '.join(doubles)}}})",
        "c = c64[3] constant({(0.1, -1e-7), (inf, 2), (123456789, 0.333333333)})",
        "d = c128[2] constant({(0.1, 1e300), (0, -7.25)})",
        "f = f32[] constant(-0.0)",
        "g = (f32[2], pred[], s64[]) constant(({-0.0, 1}, true, -9223372036854775808))",
        "h = u64[] constant(18446744073709551615)",
    ])


_WINDOWED = """window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"""
_ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }"

_SHARDINGS = [
    '{replicated shard_as 3 metadata={op_name="a"}}',
    '{devices=[2,1,2]<=[4] last_tile_dim_replicate shard_like 2 metadata={{op_name="a"}, {op_name="b" source_line=3}}}',
    '{maximal device=3 metadata={op_name="a" source_file="c"}}', "{manual shard_as 1}", "{}",
    "{devices=[2,2,2]0,1,2,3,7,6,5,4 last_tile_dims={manual}}", "{devices=[1,2,2,2]<=[8] last_tile_dims={manual,unreduced}}",
    "{mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)), [{'x'}, {'y'}]}", "{mesh['x'=4], device_ids=(3,2,1,0), [{'x'}, {}]}",
    "{mesh['x'=2,'y'=2,'z'=2], [{'x', ?}, {}], replicated={'y'}, unreduced={'z'}}",
    "{mesh['x'=8], [{'x':(1)2}, {'x':(2)4}]}", "{mesh['x'=8], manual}", "{mesh['x'=8], unreduced}",
    "{mesh['x'=8], replicated}", "{mesh['x'=8], [{}, {}], manual={'x'}, metadata={op_name=\"x\"}}",
    "{{replicated}, {manual}}", "{maximal_mesh[device_id=2]}", "{mesh[], replicated}",
    "{mesh['x'=2,'y'=2], [{?}, {}], replicated={'x', 'y'}}", "{devices=[1,8]0,2,4,6,1,3,5,7}",
]
_ORIGINS = ['{{"a" {0}}}', "{{}}", '{({"o1" {0}}, {"o2" {1,2}})}', "{[synthetic_call]}", '{({"a"}, ({}, {"b"}))}',
            "{({}, {})}", "{()}", '{((({"a"})), {"b"})}']
_METADATA = ["source_line=3", 'scheduling_name="s"', 'metadata_payload="p"', 'source_file="s"', 'op_type="x"',
             'op_name="x" source_column=3', 'deduplicated_name="d"', "profile_type={1}", 'profile_type={0} op_name="x"',
             'op_type="t" op_name="n" source_file="f" source_line=3 source_end_line=4 source_column=5 '
             'source_end_column=6 profile_type={2} deduplicated_name="d" scheduling_name="s" metadata_payload="p"']

_FRAMES = """
FileNames
1 "unused.py"
2 "b.py"
3 "c.py"

FunctionNames
1 "fu"
2 "outer"
3 "inner"

FileLocations
1 {file_name_id=3 function_name_id=3 line=10 end_line=10 column=2 end_column=9}
2 {file_name_id=1 function_name_id=1 line=77 end_line=79 column=0 end_column=4}
3 {file_name_id=2 function_name_id=2 line=78 end_line=79 column=0 end_column=4}

StackFrames
1 {file_location_id=2 parent_frame_id=1}
2 {file_location_id=3 parent_frame_id=1}
3 {file_location_id=1 parent_frame_id=3}
4 {file_location_id=1 parent_frame_id=4}
5 {file_location_id=1 parent_frame_id=3}
"""

SNIPPETS = {
    "floats": _floats(),
    "custom_call": _module([
        f'c = f32[4,4] custom-call(x), custom_call_target="t", schedule=SCHEDULE_LATEST, '
        f'api_version=API_VERSION_STATUS_RETURNING, custom_call_has_side_effect=true, '
        f'operand_layout_constraints={{f32[4,4]{{1,0}}}}, literal=s32[2]{{0}} {{1,2}}, '
        f'output_to_operand_aliasing={{{{}}: (0, {{}})}}, {_WINDOWED}, feature_group_count=2, batch_group_count=2, '
        f'operand_precision={{high}}, padding_type=PADDING_VALID, sharding={{replicated}}, '
        f'frontend_attributes={{z="1",a="b"}}, control-predecessors={{x}}, statistics={{visualizing_index=0,foo=1}}, '
        f'origin={{{{"o"}}}}, metadata={{op_name="n"}}, backend_config="q"',
        'c2 = f32[4,4] custom-call(x), custom_call_target="t", called_computations={add}, schedule=SCHEDULE_LATEST, '
        'api_version=API_VERSION_TYPED_FFI, output_to_operand_aliasing={{1,2}: (0, {3}), {}: (0, {})}',
    ], before=_ADD),
    "accuracy_and_statistics": _module([
        "a = f32[4,4] exponential(x), result_accuracy={tolerance={atol=0.5,rtol=1e-7,ulps=3}}, sharding={replicated}, "
        'origin={{"o"}}, statistics={visualizing_index=-1,foo=1e-7}',
        "b = f32[4,4] exponential(x), result_accuracy={mode=highest}",
        "c = f32[4,4] exponential(x), result_accuracy={tolerance={atol=0.25,rtol=1e-17}}, "
        "statistics={visualizing_index=0,foo=0.125,bar=1e17}",
    ]),
    "fusion_aliasing": _module([
        "f = f32[4,4] fusion(x, x), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, "
        "calls={ a = f32[4,4] parameter(0) b = f32[4,4] parameter(1) ROOT k = f32[4,4] add(a, b) }",
        "g = f32[4,4] fusion(x), kind=kCustom, calls={ ROOT a = f32[4,4] parameter(0) }",
    ]),
    "collectives": _module([
        "a = f32[4,4] all-reduce(x), to_apply=add, replica_groups={}, channel_id=3, use_global_device_ids=true, "
        "constrain_layout=true",
        "b = f32[4,4] reduce-scatter(x), to_apply=add, dimensions={0}, use_global_device_ids=true, channel_id=2, "
        "constrain_layout=true, replica_groups={{0}}, mode=cross_replica",
        "c = f32[4,4] all-gather(x), dimensions={0}, use_global_device_ids=true, channel_id=2, constrain_layout=true, "
        "replica_groups={{0,1},{2}}",
        "d = f32[4,4] all-to-all(x), dimensions={0}, channel_id=2, constrain_layout=true, replica_groups={{0,1},{2}}",
        "f = f32[4,4] collective-permute(x), source_target_pairs={{0,1},{1,2}}, channel_id=3",
        "h = f32[4,4] all-reduce(x), to_apply=add, "
        "replica_groups=mesh['x'=2,'y'=4], device_ids=(0,1,2,3,7,6,5,4) {'x','y':(1)2}",
        "i = f32[4,4] all-gather(x), dimensions={0}, constrain_layout=true",
        "j = f32[4,4] collective-broadcast(x), replica_groups={{1,0}}, channel_id=1",
    ], before=_ADD),
    "convolution_and_dot": _module([
        "a = f32[4,4] convolution(x, x), dim_labels=bf_io->bf, operand_precision={high,high}, convolution_kind=fprop, "
        "feature_group_count=2, batch_group_count=3, sparsity_config={lhs={sparsity=2x4 dimension=3 stride=1}}",
        "b = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={high,highest}, "
        "algorithm=dot_f32_f32_f32",
        "c = f32[4,4] ragged-dot(x, x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
        "d = f32[4,4] ragged-dot(x, x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
        "rhs_group_dims={0}, operand_precision={high,high}, lhs_batch_dims={0}, rhs_batch_dims={0}",
    ]),
    "infeed_outfeed_send": _module([
        "tok = token[] after-all()",
        "s = (f32[4,4], u32[], token[]) send(x, tok), channel_id=15, is_host_transfer=true, "
        "sharding={{replicated}, {replicated}, {replicated}}",
        'of = token[] outfeed(x, tok), outfeed_config="abc", outfeed_shape=f32[4,4]{0,1}',
        'inf_ = ((f32[4,4]), token[]) infeed(tok), infeed_config="x\\xe9"',
    ]),
    "shardings": _module([f"a{i} = f32[4,4] negate(x), sharding={s}" for i, s in enumerate(_SHARDINGS)]),
    "origins": _module([f"a{i} = f32[4,4] negate(x), origin={s}" for i, s in enumerate(_ORIGINS)]),
    "metadata": _module([f"a{i} = f32[4,4] negate(x), metadata={{{s}}}" for i, s in enumerate(_METADATA)]),
    "strings": _module([
        'a = f32[4,4] negate(x), frontend_attributes={a="{b}",c="{\\"",e="",f="{a}{b}",g="{\\"}\\"}"}',
        'b = f32[4,4] negate(x), metadata={op_name="tab\\t quote\\" back\\\\ nul\\0 e\\303\\251 nl\\n"}',
        'c = f32[4,4] negate(x), backend_config="{\\"a\\":1}"', 'd = f32[4,4] negate(x), backend_config="{a}}"',
        'f = f32[4,4] negate(x), backend_config="{\\"a}"', 'g = f32[4,4] negate(x), backend_config={"a":"}{\\""}',
    ]),
    "stack_frames": _module([
        'a = f32[4,4] negate(x), metadata={op_name="n" stack_frame_id=4}',
        'b = f32[4,4] negate(a), metadata={op_name="n" stack_frame_id=2}',
        "c = f32[4,4] negate(b), metadata={stack_frame_id=9}", "d = f32[4,4] negate(c), metadata={stack_frame_id=1}",
        "f = f32[4,4] negate(d), metadata={stack_frame_id=5}",
    ], before=_FRAMES),
    "async": """HloModule m
w5 { a = f32[4] parameter(0) n = f32[4] negate(a) ROOT c = f32[4] add(n, n) }, execution_thread="host"
cc { a = f32[4] parameter(0) ROOT n = f32[4] negate(a) }
ENTRY e {
  x = f32[4] parameter(0)
  a5 = ((f32[4]), f32[4], s32[]) async-start(x), calls=w5, async_execution_thread="host", output_to_operand_aliasing={{}: (0, {})}
  c5 = ((f32[4]), f32[4], s32[]) async-update(a5)
  b5 = f32[4] async-done(c5)
  a7 = ((f32[4]), f32[4], s32[]) call-start(x), to_apply=cc
  b7 = f32[4] call-done(a7)
  a8 = ((f32[4]), f32[4], s32[]) fusion-start(x), kind=kLoop, calls=cc, output_to_operand_aliasing={{}: (0, {})}, sharding={{replicated}, {replicated}, {replicated}}, metadata={op_name="q"}
  b8 = f32[4] fusion-done(a8), metadata={op_name="r"}
  a9 = ((f32[4]), f32[4], s32[]) custom-call-start(x), custom_call_target="t", async_execution_thread="host", frontend_attributes={a="b"}, control-predecessors={a8}, backend_config={"a":1}
  b9 = f32[4] custom-call-done(a9)
  ROOT t = () tuple()
}
""",
    "orders": f"""HloModule m
{_ADD}
unused {{ p = f32[4] parameter(0) ROOT s = f32[] negate(p) }}
outer {{ q = f32[] parameter(0) r = f32[] parameter(1) ROOT s = f32[] call(q, r), to_apply=add }}
ENTRY e {{
  x = f32[] parameter(1)
  y = f32[] parameter(0)
  dead = f32[] multiply(y, x)
  a = f32[] add(x, y), control-predecessors={{dead}}
  b = f32[] call(a, x), to_apply=outer
  c = f32[] call(b, a), to_apply=add
  d = f32[] subtract(c, b)
  t = (f32[], f32[], f32[], f32[], f32[], f32[], f32[], f32[], f32[], f32[], f32[]) tuple(d, c, b, a, y, x, x, y, a, b, c)
  ROOT r = f32[] get-tuple-element(t), index=10
  late = f32[] negate(t)
}}
""",
    "ranks": _module([
        "a = f32[2,1,2,2] constant({{{{1,2},{3,4}}},{{{5,6},{7,8}}}})", "b = f32[1,2,1,1,2] constant({{{{{1,2}}},{{{3,4}}}}})",
        "c = s32[2,0,3] constant({{},{}})", "d = s32[0,2] constant({})", "f = s32[3,1] constant({{1},{2},{3}})",
        "g = pred[2,2]{0,1} constant({{1,0},{0,0}})", "h = s32[2,3]{0,1} constant({{1,2,3},{4,5,6}})",
        "i = bf16[2,2,2]{0,2,1} constant({{{1,2},{3,4}},{{5,6},{7,8}}})", "j = () constant(())",
        "k = ((s32[1], ()), pred[1]) constant((({7}, ()), {1}))",
    ]),
    "header": """HloModule m, is_scheduled=true, input_output_alias={ {1}: (1, {2}, must-alias), {0}: (0, {}) }, buffer_donor={ (3, {0}), (2, {}) }, frontend_attributes={k2={"j":1},k1="v one"}
ENTRY e {
  a = f32[4] parameter(0)
  b = (f32[], f32[], f32[4]) parameter(1)
  c = f32[4] parameter(2)
  d = (f32[4]) parameter(3)
  g = f32[4] get-tuple-element(b), index=2
  ROOT t = (f32[4], f32[4]) tuple(a, g)
}
""",
}

# Types whose every bit pattern is printed, with the number of patterns.
EXHAUSTIVE = {
    "f8e5m2": 256, "f8e4m3": 256, "f8e3m4": 256, "f8e4m3fn": 256, "f8e4m3b11fnuz": 256, "f8e5m2fnuz": 256,
    "f8e4m3fnuz": 256, "f8e8m0fnu": 256, "f4e2m1fn": 16, "s4": 16, "u4": 16, "s2": 4, "u2": 4, "s8": 256, "u8": 256,
    "bf16": 65536, "f16": 65536, "s16": 65536, "u16": 65536,
}


def exhaustive(name):
    """A module with one constant of `name`, of all zeros but the first, and the bytes of its elements."""
    count = EXHAUSTIVE[name]
    width = 2 if count > 256 else 1
    rest = ", ".join(["1"] * (count - 1)) if name == "f8e8m0fnu" else ", ".join(["0"] * (count - 1))
    return _module([f"a = {name}[{count}] constant({{1, {rest}}})"]), width
