// Products of matrices. Both factors are copied into strips of a few rows or columns, in the type of the sum, so that
// one small kernel serves all layouts and types.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "cublas_elements.h"
#include "kbemu/cublas_products.h"

#pragma GCC optimize("O3")

namespace kbemu::cublas {
namespace {

constexpr int kStripA = 16;
constexpr int kStripB = 4;

// strips[(i / width) * k * width + p * width + i % width] is element p of line i; lines beyond the last are zero.
template <class Sum, class T>
void pack(const T* data, long long line_step, long long element_step, int lines, int k, int width, Sum* strips) {
    for (int first = 0; first < lines; first += width) {
        const int present = std::min(width, lines - first);
        for (int p = 0; p < k; ++p, strips += width) {
            const T* source = data + first * line_step + p * element_step;
            for (int i = 0; i < present; ++i) strips[i] = static_cast<Sum>(source[i * line_step]);
            for (int i = present; i < width; ++i) strips[i] = Sum(0);
        }
    }
}

template <class Sum>
void multiply_strips(const Sum* a, const Sum* b, int k, Sum (&sums)[kStripB][kStripA]) {
    Sum local[kStripB][kStripA] = {};
    for (int p = 0; p < k; ++p, a += kStripA, b += kStripB) {
        for (int j = 0; j < kStripB; ++j) {
            for (int i = 0; i < kStripA; ++i) local[j][i] += a[i] * b[j];
        }
    }
    std::copy_n(&local[0][0], kStripA * kStripB, &sums[0][0]);
}

// A half-precision product keeps its scalars in half, and so on.
template <class Sum>
Sum scalar(const void* value, cublasComputeType_t compute) {
    const bool half = compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC;
    if (half) return static_cast<Sum>(static_cast<float>(*static_cast<const Half*>(value)));
    return *static_cast<const Sum*>(value);
}

int padded(int lines, int width) {
    return (lines + width - 1) / width * width;
}

template <class Sum>
class Multiplication {
public:
    explicit Multiplication(const Product& product)
        : product_(product),
          alpha_(scalar<Sum>(product.alpha, product.compute)),
          beta_(scalar<Sum>(product.beta, product.compute)),
          a_(std::size_t(padded(product.m, kStripA)) * product.k),
          b_(std::size_t(padded(product.n, kStripB)) * product.k) {}

    void run(const void* a, const void* b, void* c) {
        pack_factor(a, product_.a, product_.transpose_a != CUBLAS_OP_N, product_.m, kStripA, a_.data());
        pack_factor(b, product_.b, product_.transpose_b == CUBLAS_OP_N, product_.n, kStripB, b_.data());
        with_elements(c, product_.c.type, [&](auto* elements) { fill(elements); });
    }

private:
    void pack_factor(const void* data, const Matrix& matrix, bool by_line, int lines, int width, Sum* strips) {
        const long long line_step = by_line ? matrix.leading : 1;
        const long long element_step = by_line ? 1 : matrix.leading;
        with_elements(data, matrix.type, [&](const auto* elements) {
            pack(elements, line_step, element_step, lines, product_.k, width, strips);
        });
    }

    template <class T>
    void fill(T* c) {
        Sum sums[kStripB][kStripA];
        for (int column = 0; column < product_.n; column += kStripB) {
            for (int row = 0; row < product_.m; row += kStripA) {
                const Sum* a = a_.data() + std::size_t(row) * product_.k;
                multiply_strips(a, b_.data() + std::size_t(column) * product_.k, product_.k, sums);
                store(c, row, column, sums);
            }
        }
    }

    // C is not read when beta is zero: it may hold anything.
    template <class T>
    void store(T* c, int row, int column, const Sum (&sums)[kStripB][kStripA]) {
        for (int j = 0; j < std::min(kStripB, product_.n - column); ++j) {
            T* target = c + static_cast<long long>(column + j) * product_.c.leading + row;
            for (int i = 0; i < std::min(kStripA, product_.m - row); ++i) {
                const Sum old = beta_ == Sum(0) ? Sum(0) : beta_ * static_cast<Sum>(target[i]);
                target[i] = static_cast<T>(alpha_ * sums[j][i] + old);
            }
        }
    }

    const Product& product_;
    const Sum alpha_, beta_;
    std::vector<Sum> a_, b_;
};

const void* element_of_batch(const Matrix& matrix, int index) {
    if (matrix.array) return matrix.array[index];
    return static_cast<const char*>(matrix.data) + index * matrix.stride * static_cast<long long>(size_of(matrix.type));
}

struct Shape {
    int rows, columns;
};

Shape shape_of_a(const Product& product) {
    return product.transpose_a == CUBLAS_OP_N ? Shape{product.m, product.k} : Shape{product.k, product.m};
}

Shape shape_of_b(const Product& product) {
    return product.transpose_b == CUBLAS_OP_N ? Shape{product.k, product.n} : Shape{product.n, product.k};
}

bool is_valid(const Product& product) {
    const bool sizes = product.m >= 0 && product.n >= 0 && product.k >= 0 && product.batch >= 0;
    const bool leading = product.a.leading >= std::max(1, shape_of_a(product).rows) &&
                         product.b.leading >= std::max(1, shape_of_b(product).rows) &&
                         product.c.leading >= std::max(1, product.m);
    return sizes && leading && product.alpha && product.beta;
}

std::size_t bytes_of(const Matrix& matrix, Shape shape) {
    return extent(shape.rows, shape.columns, matrix.leading, size_of(matrix.type));
}

template <class Sum>
cublasStatus_t run(const Product& product, const Site& site) {
    Multiplication<Sum> multiplication(product);
    const std::size_t bytes_of_c = bytes_of(product.c, {product.m, product.n});
    for (int i = 0; i < product.batch; ++i) {
        const void* a = element_of_batch(product.a, i);
        const void* b = element_of_batch(product.b, i);
        void* c = const_cast<void*>(element_of_batch(product.c, i));
        const bool outside = leaves_allocation(a, bytes_of(product.a, shape_of_a(product)), "A", site) ||
                             leaves_allocation(b, bytes_of(product.b, shape_of_b(product)), "B", site) ||
                             leaves_allocation(c, bytes_of_c, "C", site);
        if (outside) return CUBLAS_STATUS_EXECUTION_FAILED;
        multiplication.run(a, b, c);
        tell_of_write(c, bytes_of_c);
    }
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t multiply(cublasHandle_t handle, const Product& product, const Site& site) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_valid(product)) return CUBLAS_STATUS_INVALID_VALUE;
    if (!product.m || !product.n) return CUBLAS_STATUS_SUCCESS;
    switch (product.compute) {
        case CUBLAS_COMPUTE_64F:
        case CUBLAS_COMPUTE_64F_PEDANTIC: return run<double>(product, site);
        case CUBLAS_COMPUTE_32I:
        case CUBLAS_COMPUTE_32I_PEDANTIC: return run<int>(product, site);
        default: return run<float>(product, site);
    }
}

}  // namespace kbemu::cublas
