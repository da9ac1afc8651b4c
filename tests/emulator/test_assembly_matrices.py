"""mma.sync, ldmatrix, stmatrix and movmatrix against torch, through the layouts that the PTX manual gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import ptx_matrices as matrices
import pytest
import torch
from conftest import needs_compiler
from ptx_matrices import ELEMENTS, Shape, accumulator, gathered, spread
from ptx_program import Program, Snippet

pytestmark = needs_compiler


@dataclass(frozen=True)
class Product:
    """Shape, types and modifier of an mma instruction."""

    shape: Shape
    a: str
    b: str
    accumulator: str
    modifier: str = ""

    @property
    def name(self) -> str:
        return f"{self.shape.name}_{self.a}_{self.b}_{self.accumulator}{self.modifier.replace('.', '_')}"

    @property
    def register(self) -> int:
        return 64 if self.a == "f64" else 32

    def registers(self, elements: int, kind: str) -> int:
        return elements * ELEMENTS[kind].width // self.register

    def snippet(self) -> Snippet:
        d = self.registers(self.shape.d_elements, self.accumulator)
        counts = (d, self.registers(self.shape.a_elements, self.a), self.registers(self.shape.b_elements, self.b), d)
        groups, first = [], 0
        for count in counts:
            groups.append("{" + ", ".join(f"%{first + i}" for i in range(count)) + "}")
            first += count
        opcode = f"mma.sync.aligned.{self.shape.name}.row.col{self.modifier}"
        types = f"{self.accumulator}.{self.a}.{self.b}.{self.accumulator}"
        integer = "l:u64" if self.register == 64 else "r:u32"
        own = {"f32": "f:f32", "f64": "d:f64"}.get(self.accumulator, integer)
        operand = "d:f64" if self.register == 64 else integer
        inputs = (f"{operand}*{counts[1]}", f"{operand}*{counts[2]}", f"{own}*{d}")
        return Snippet(f"{opcode}.{types} {', '.join(groups)};", (f"{own}*{d}",), inputs)


PRODUCTS = [
    Product(matrices.HALF_K8, "f16", "f16", "f32"),
    Product(matrices.HALF_K8, "f16", "f16", "f16"),
    Product(matrices.HALF_K16, "f16", "f16", "f32"),
    Product(matrices.HALF_K16, "f16", "f16", "f16"),
    Product(matrices.HALF_K8, "bf16", "bf16", "f32"),
    Product(matrices.HALF_K16, "bf16", "bf16", "f32"),
    Product(matrices.TF32_K4, "tf32", "tf32", "f32"),
    Product(matrices.TF32_K8, "tf32", "tf32", "f32"),
    Product(matrices.DOUBLE_K4, "f64", "f64", "f64"),
    *(
        Product(shape, a, b, "s32", modifier)
        for shape in (matrices.BYTE_M8, matrices.BYTE_K16, matrices.BYTE_K32)
        for a in ("s8", "u8")
        for b in ("s8", "u8")
        for modifier in ("", ".satfinite")
    ),
    *(
        Product(shape, a, b, "s32")
        for shape in (matrices.NIBBLE_M8, matrices.NIBBLE_K32, matrices.NIBBLE_K64)
        for a in ("s4", "u4")
        for b in ("s4", "u4")
    ),
    Product(matrices.BYTE_K32, "e4m3", "e5m2", "f32"),
]

# Four matrices in shared memory, of which each thread has a row.
_TILES = (
    "SHARED(uint4, rows, 32); unsigned* own = reinterpret_cast<unsigned*>(rows + i); "
    "const unsigned address = __cvta_generic_to_shared(own); "
)
_COPY_IN = "for (int j = 0; j < 4; ++j) own[j] = in0[4 * i + j]; __syncwarp();"
_CLEAR = "for (int j = 0; j < 4; ++j) own[j] = 0; __syncwarp();"
_COPY_OUT = "__syncwarp(); for (int j = 0; j < 4; ++j) out0[4 * i + j] = own[j];"


def _movements() -> dict[str, Snippet]:
    found = {"movmatrix": Snippet("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;", ("r:u32",), ("r:u32",))}
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            loaded = ", ".join(f"%{i}" for i in range(count))
            load = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{loaded}}}, [%{count}];"
            outputs, inputs = (f"r:u32*{count}",), (":u32*4", "r=address")
            found[f"load{count}{trans[1:]}"] = Snippet(load, outputs, inputs, _TILES + _COPY_IN)
            stored = ", ".join(f"%{i + 1}" for i in range(count))
            store = f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%0], {{{stored}}};"
            outputs, inputs = (":u32*4",), ("r=address", f"r:u32*{count}")
            found[f"store{count}{trans[1:]}"] = Snippet(store, outputs, inputs, _TILES + _CLEAR, _COPY_OUT)
    return found


def snippets() -> dict[str, Snippet]:
    return {product.name: product.snippet() for product in PRODUCTS} | _movements()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(snippets(), tmp_path_factory.mktemp("ptx"))


def _random(product: Product, rows: int, columns: int, kind: str, generator: torch.Generator) -> torch.Tensor:
    """Draw the bits of a random matrix whose products are exact in the accumulator, or nearly so."""
    if kind[0] in "su":
        values = 2 ** min(ELEMENTS[kind].width, 31)
        return torch.randint(0, values, (rows, columns), generator=generator)
    return ELEMENTS[kind].to_bits(torch.randn(rows, columns, generator=generator, dtype=torch.float64))


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_mma_multiplies_as_torch_does(product: Product, program: Program) -> None:
    generator = torch.Generator().manual_seed(7)
    shape = product.shape
    a = _random(product, shape.m, shape.k, product.a, generator)
    b = _random(product, shape.k, 8, product.b, generator)
    c = _random(product, shape.m, 8, product.accumulator, generator)
    width = ELEMENTS[product.accumulator].width
    inputs = [
        spread(a, shape.a, shape.a_elements, ELEMENTS[product.a].width, product.register),
        spread(b, shape.b, shape.b_elements, ELEMENTS[product.b].width, product.register),
        spread(c, accumulator, shape.d_elements, width, max(product.register, width)),
    ]
    result = program(product.name, *(_viewed(bits, product, i) for i, bits in enumerate(inputs)))
    bits = gathered(_unsigned(result), accumulator, shape.d_elements, width, shape.m, 8)
    found = ELEMENTS[product.accumulator].to_values(bits)
    expected = _expected(product, a, b, c)
    assert torch.allclose(found, expected, rtol=_RELATIVE[product.accumulator], atol=_ABSOLUTE[product.accumulator])


_RELATIVE = {"f16": 2.0**-11, "f32": 2.0**-21, "f64": 2.0**-50, "s32": 0.0}
_ABSOLUTE = {"f16": 2.0**-16, "f32": 2.0**-19, "f64": 2.0**-48, "s32": 0.0}


def _expected(product: Product, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    values = [
        ELEMENTS[kind].to_values(bits) for kind, bits in ((product.a, a), (product.b, b), (product.accumulator, c))
    ]
    exact = values[0] @ values[1] + values[2]
    if product.accumulator != "s32":
        return exact
    if product.modifier:
        return exact.clamp(-(2**31), 2**31 - 1)
    return (exact + 2**31).remainder(2**32) - 2**31


def _viewed(bits: matrices.Bits, product: Product, operand: int) -> np.ndarray:
    """Return the registers in the form of the snippet's arrays."""
    if product.register == 64:
        return bits.view(np.float64)
    narrow = bits.astype(np.uint32)
    return narrow.view(np.float32) if operand == 2 and product.accumulator == "f32" else narrow


def _unsigned(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.dtype.itemsize}")


def test_integer_products_saturate_only_when_they_are_told_to(program: Program) -> None:
    largest = np.full(32, 2**31 - 1, dtype=np.uint32)
    ones = np.full(32, 0x01010101, dtype=np.uint32)
    accumulators = np.repeat(largest, 2)
    assert set(program("m8n8k16_s8_s8_s32", ones, ones, accumulators)) == {2**31 + 15}
    assert set(program("m8n8k16_s8_s8_s32_satfinite", ones, ones, accumulators)) == {2**31 - 1}


def _tiles() -> np.ndarray:
    """Return four 8 × 8 matrices of distinct 16-bit numbers."""
    return np.arange(256, dtype=np.uint16).reshape(4, 8, 8)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", ["", "trans"])
def test_ldmatrix_deals_rows_to_lanes(program: Program, count: int, trans: str) -> None:
    tiles = _tiles()
    result = program(f"load{count}{trans}", tiles.reshape(-1).view(np.uint32))
    matrix = tiles.transpose(0, 2, 1) if trans else tiles
    pairs = matrix[:count].reshape(count, 32, 2).transpose(1, 0, 2)
    assert (result.view(np.uint16) == pairs.reshape(-1)).all()


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", ["", "trans"])
def test_stmatrix_is_the_opposite(program: Program, count: int, trans: str) -> None:
    tiles = _tiles()
    matrix = tiles.transpose(0, 2, 1) if trans else tiles
    pairs = matrix[:count].reshape(count, 32, 2).transpose(1, 0, 2)
    result = program(f"store{count}{trans}", np.ascontiguousarray(pairs).reshape(-1).view(np.uint32))
    assert (result.view(np.uint16)[: 64 * count] == tiles[:count].reshape(-1)).all()
    assert not result.view(np.uint16)[64 * count :].any()


def test_movmatrix_transposes(program: Program) -> None:
    tile = _tiles()[0]
    result = program("movmatrix", tile.reshape(-1).view(np.uint32))
    assert (result.view(np.uint16).reshape(8, 8) == tile.T).all()
