// Vectors, and matrices with vectors. Sums are taken in double: cuBLAS promises no order of summation.
#include "kbemu/cublas_vectors.h"

#include <cmath>
#include <utility>

#include "cublas_elements.h"

namespace kbemu::cublas {
namespace {

// A vector as the functions describe it. With a negative step it is read from its end.
template <class T>
struct Vector {
    T* data;
    long long size, step;

    Vector(T* data_, long long size_, long long step_)
        : data(step_ < 0 ? data_ - (size_ - 1) * step_ : data_), size(size_), step(step_) {}

    T& operator[](long long index) const { return data[index * step]; }
    const T* start() const { return step < 0 ? data + (size - 1) * step : data; }
    std::size_t bytes() const { return size > 0 ? ((size - 1) * std::llabs(step) + 1) * sizeof(T) : 0; }
    bool outside(const Site& site) const { return leaves_allocation(start(), bytes(), "a vector", site); }
    void written() const { tell_of_write(start(), bytes()); }
};

template <class T>
bool outside(const T* data, int rows, int columns, int leading, const Site& site) {
    return leaves_allocation(data, extent(rows, columns, leading, sizeof(T)), "a matrix", site);
}

// Calls `run` when the arguments can be used.
template <class Run>
cublasStatus_t guarded(cublasHandle_t handle, bool valid, bool outside, Run run) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
    if (outside) return CUBLAS_STATUS_EXECUTION_FAILED;
    run();
    return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t gemv(
    cublasHandle_t handle, bool transposed, int m, int n, T alpha, const T* a, int lda, const T* x, int step_x, T beta,
    T* y, int step_y, const Site& site) {
    const Vector<const T> in(x, transposed ? m : n, step_x);
    const Vector<T> out(y, transposed ? n : m, step_y);
    const bool valid = m >= 0 && n >= 0 && lda >= m && step_x && step_y;
    return guarded(handle, valid, outside(a, m, n, lda, site) || in.outside(site) || out.outside(site), [&] {
        for (long long i = 0; i < out.size; ++i) {
            double sum = 0;
            for (long long j = 0; j < in.size; ++j) sum += double(transposed ? a[i * lda + j] : a[j * lda + i]) * in[j];
            out[i] = static_cast<T>(alpha * sum + (beta == 0 ? 0.0 : double(beta) * out[i]));
        }
        out.written();
    });
}

template <class T>
cublasStatus_t ger(
    cublasHandle_t handle, int m, int n, T alpha, const T* x, int step_x, const T* y, int step_y, T* a, int lda,
    const Site& site) {
    const Vector<const T> left(x, m, step_x), right(y, n, step_y);
    const bool valid = m >= 0 && n >= 0 && lda >= m && step_x && step_y;
    return guarded(handle, valid, outside(a, m, n, lda, site) || left.outside(site) || right.outside(site), [&] {
        for (long long j = 0; j < n; ++j) {
            for (long long i = 0; i < m; ++i) a[j * lda + i] += alpha * left[i] * right[j];
        }
        tell_of_write(a, extent(m, n, lda, sizeof(T)));
    });
}

template <class T>
cublasStatus_t geam(
    cublasHandle_t handle, bool ta, bool tb, int m, int n, T alpha, const T* a, int lda, T beta, const T* b, int ldb,
    T* c, int ldc, const Site& site) {
    const auto is_outside = [&](const T* data, bool transposed, int leading) {
        return outside(data, transposed ? n : m, transposed ? m : n, leading, site);
    };
    const bool valid = m >= 0 && n >= 0 && lda >= (ta ? n : m) && ldb >= (tb ? n : m) && ldc >= m;
    const bool bad = (alpha != 0 && is_outside(a, ta, lda)) || (beta != 0 && is_outside(b, tb, ldb)) ||
                     is_outside(c, false, ldc);
    return guarded(handle, valid, bad, [&] {
        for (long long j = 0; j < n; ++j) {
            for (long long i = 0; i < m; ++i) {
                const T left = alpha == 0 ? T(0) : alpha * a[ta ? i * lda + j : j * lda + i];
                const T right = beta == 0 ? T(0) : beta * b[tb ? i * ldb + j : j * ldb + i];
                c[j * ldc + i] = left + right;
            }
        }
        tell_of_write(c, extent(m, n, ldc, sizeof(T)));
    });
}

template <class T>
cublasStatus_t dgmm(
    cublasHandle_t handle, bool left, int m, int n, const T* a, int lda, const T* x, int step, T* c, int ldc,
    const Site& site) {
    const Vector<const T> diagonal(x, left ? m : n, step);
    const bool bad = outside(a, m, n, lda, site) || outside(c, m, n, ldc, site) || diagonal.outside(site);
    return guarded(handle, m >= 0 && n >= 0 && lda >= m && ldc >= m, bad, [&] {
        for (long long j = 0; j < n; ++j) {
            for (long long i = 0; i < m; ++i) c[j * ldc + i] = a[j * lda + i] * diagonal[left ? i : j];
        }
        tell_of_write(c, extent(m, n, ldc, sizeof(T)));
    });
}

// y[i] = update(x[i], y[i])
template <class T, class Update>
cublasStatus_t combine(
    cublasHandle_t handle, int n, const T* x, int step_x, T* y, int step_y, Update update, const Site& site) {
    const Vector<const T> in(x, n, step_x);
    const Vector<T> out(y, n, step_y);
    return guarded(handle, n >= 0, in.outside(site) || out.outside(site), [&] {
        for (long long i = 0; i < n; ++i) out[i] = update(in[i], out[i]);
        out.written();
    });
}

template <class T>
cublasStatus_t swap(cublasHandle_t handle, int n, T* x, int step_x, T* y, int step_y, const Site& site) {
    const Vector<T> first(x, n, step_x), second(y, n, step_y);
    return guarded(handle, n >= 0, first.outside(site) || second.outside(site), [&] {
        for (long long i = 0; i < n; ++i) std::swap(first[i], second[i]);
        first.written();
        second.written();
    });
}

// *result = finish(sum of term(x[i], y[i]))
template <class T, class Term, class Finish>
cublasStatus_t reduce(
    cublasHandle_t handle, int n, const T* x, int step_x, const T* y, int step_y, T* result, Term term, Finish finish,
    const Site& site) {
    const Vector<const T> first(x, n, step_x), second(y, n, step_y);
    return guarded(handle, result, first.outside(site) || second.outside(site), [&] {
        double sum = 0;
        for (long long i = 0; i < n; ++i) sum += term(double(first[i]), double(second[i]));
        *result = static_cast<T>(finish(sum));
        tell_of_write(result, sizeof(T));
    });
}

template <class T, class Better>
cublasStatus_t place(
    cublasHandle_t handle, int n, const T* x, int step, int* result, Better better, const Site& site) {
    const Vector<const T> values(x, n, step);
    return guarded(handle, result, values.outside(site), [&] {
        *result = n > 0 ? 1 : 0;
        for (long long i = 1; i < n; ++i) {
            if (better(std::fabs(values[i]), std::fabs(values[*result - 1]))) *result = static_cast<int>(i) + 1;
        }
        tell_of_write(result, sizeof *result);
    });
}

double same(double sum) {
    return sum;
}

}  // namespace
}  // namespace kbemu::cublas

#define KBEMU_CUBLAS_VECTORS(P, T) \
    cublasStatus_t cublas##P##gemv( \
        cublasHandle_t handle, cublasOperation_t transpose, int m, int n, const T* alpha, const T* a, int lda, \
        const T* x, int step_x, const T* beta, T* y, int step_y, kbemu::Site site) { \
        return kbemu::cublas::gemv<T>( \
            handle, transpose != CUBLAS_OP_N, m, n, *alpha, a, lda, x, step_x, *beta, y, step_y, site); \
    } \
    cublasStatus_t cublas##P##ger( \
        cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int step_x, const T* y, int step_y, T* a, \
        int lda, kbemu::Site site) { \
        return kbemu::cublas::ger<T>(handle, m, n, *alpha, x, step_x, y, step_y, a, lda, site); \
    } \
    cublasStatus_t cublas##P##geam( \
        cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, const T* alpha, const T* a, \
        int lda, const T* beta, const T* b, int ldb, T* c, int ldc, kbemu::Site site) { \
        return kbemu::cublas::geam<T>( \
            handle, ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, *alpha, a, lda, *beta, b, ldb, c, ldc, site); \
    } \
    cublasStatus_t cublas##P##dgmm( \
        cublasHandle_t handle, cublasSideMode_t side, int m, int n, const T* a, int lda, const T* x, int step_x, T* c, \
        int ldc, kbemu::Site site) { \
        return kbemu::cublas::dgmm<T>(handle, side == CUBLAS_SIDE_LEFT, m, n, a, lda, x, step_x, c, ldc, site); \
    } \
    cublasStatus_t cublas##P##axpy( \
        cublasHandle_t handle, int n, const T* alpha, const T* x, int step_x, T* y, int step_y, kbemu::Site site) { \
        const auto update = [scale = *alpha](T in, T out) { return scale * in + out; }; \
        return kbemu::cublas::combine<T>(handle, n, x, step_x, y, step_y, update, site); \
    } \
    cublasStatus_t cublas##P##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int step_x, kbemu::Site site) { \
        const auto update = [scale = *alpha](T in, T) { return scale * in; }; \
        return kbemu::cublas::combine<T>(handle, n, x, step_x, x, step_x, update, site); \
    } \
    cublasStatus_t cublas##P##copy( \
        cublasHandle_t handle, int n, const T* x, int step_x, T* y, int step_y, kbemu::Site site) { \
        return kbemu::cublas::combine<T>(handle, n, x, step_x, y, step_y, [](T in, T) { return in; }, site); \
    } \
    cublasStatus_t cublas##P##swap( \
        cublasHandle_t handle, int n, T* x, int step_x, T* y, int step_y, kbemu::Site site) { \
        return kbemu::cublas::swap<T>(handle, n, x, step_x, y, step_y, site); \
    } \
    cublasStatus_t cublas##P##dot( \
        cublasHandle_t handle, int n, const T* x, int step_x, const T* y, int step_y, T* result, kbemu::Site site) { \
        const auto term = [](double a, double b) { return a * b; }; \
        return kbemu::cublas::reduce<T>( \
            handle, n, x, step_x, y, step_y, result, term, kbemu::cublas::same, site); \
    } \
    cublasStatus_t cublas##P##nrm2( \
        cublasHandle_t handle, int n, const T* x, int step_x, T* result, kbemu::Site site) { \
        const auto term = [](double a, double) { return a * a; }; \
        const auto root = [](double sum) { return std::sqrt(sum); }; \
        return kbemu::cublas::reduce<T>(handle, n, x, step_x, x, step_x, result, term, root, site); \
    } \
    cublasStatus_t cublas##P##asum( \
        cublasHandle_t handle, int n, const T* x, int step_x, T* result, kbemu::Site site) { \
        const auto term = [](double a, double) { return std::fabs(a); }; \
        return kbemu::cublas::reduce<T>(handle, n, x, step_x, x, step_x, result, term, kbemu::cublas::same, site); \
    } \
    cublasStatus_t cublasI##P##amax( \
        cublasHandle_t handle, int n, const T* x, int step_x, int* result, kbemu::Site site) { \
        return kbemu::cublas::place<T>(handle, n, x, step_x, result, [](T a, T b) { return a > b; }, site); \
    } \
    cublasStatus_t cublasI##P##amin( \
        cublasHandle_t handle, int n, const T* x, int step_x, int* result, kbemu::Site site) { \
        return kbemu::cublas::place<T>(handle, n, x, step_x, result, [](T a, T b) { return a < b; }, site); \
    }
// The public names are cublasIsamax and so on, in lower case.
#define cublasISamax cublasIsamax
#define cublasIDamax cublasIdamax
#define cublasISamin cublasIsamin
#define cublasIDamin cublasIdamin
KBEMU_CUBLAS_VECTORS(S, float)
KBEMU_CUBLAS_VECTORS(D, double)
