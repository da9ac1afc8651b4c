// Measures a gate on the device that only the judge opens: what its clocks tell of honest and of dishonest workers.
//
//     nvcc -arch=sm_90 -O2 -o gate tools/gpu/gate.cu -lcuda && ./gate 40
//
// Judge and worker are two processes with a context each. The judge allocates inputs, outputs and words, and hands them
// over as file descriptors. The worker enqueues a wait for the gate, its work and an end word, and is stopped. Two clocks:
//   kernels  the judge's compute stream opens the gate, waits for the end word, and copies the outputs with a kernel that
//            stamps the time: both contexts take turns on the multiprocessors
//   copies   a stream that holds nothing but copies, waits and events: it needs no multiprocessor, hence no turn. It opens
//            the gate, waits for the end word, and at once copies pieces of the outputs to the host
#include <cuda.h>
#include <cuda_runtime.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    auto code_ = (call);                                                                   \
    if (code_ != 0) {                                                                      \
      fprintf(stderr, "%s:%d %s: error %d\n", __FILE__, __LINE__, #call, (int)code_);      \
      exit(3);                                                                             \
    }                                                                                      \
  } while (0)

typedef unsigned long long u64;
enum Work { NOTHING, SPIN, COPY, LAUNCHES_40, GRAPH_10, MEMCPY };
enum Manner { HONEST, END_FIRST, ASIDE, POLLING };
enum { EVENTS = 1, END = 2 };
enum Clock { KERNELS, TURNS };
const size_t BYTES = 64ull << 20;
const int PIECES = 8, PIECE_BYTES = 4096;

struct Control {
  volatile int turn, enqueued, finished, quit;
  volatile int work, manner, problems, marks;
  volatile long long cycles;
  volatile size_t bytes;
  volatile double event_us;
};

static double now_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

__device__ u64 globaltime() {
  u64 t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
__global__ void fill(unsigned* p, size_t n, unsigned seed) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = seed ^ (unsigned)i;
}
__global__ void open_gate(volatile unsigned* gate, unsigned turn, u64* p) { *p = globaltime(); __threadfence_system(); *gate = turn; __threadfence_system(); }
__global__ void snapshot(u64* p, const unsigned* out, unsigned* copy, size_t n) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *p = globaltime();
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) copy[i] = out[i];
}
__global__ void compare(const unsigned* copy, size_t n, unsigned seed, int* wrong) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    if (copy[i] != ~(seed ^ (unsigned)i)) atomicAdd(wrong, 1);
}
__global__ void invert(const unsigned* in, unsigned* out, size_t n, long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) out[i] = ~in[i];
}

__global__ void poll(volatile unsigned* gate, unsigned turn, const unsigned* in, unsigned* out, size_t n, long long cycles) {
  long long start = clock64();
  while (*gate != turn && clock64() - start < 40000000) {}
  start = clock64();
  while (clock64() - start < cycles) {}
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) out[i] = ~((volatile const unsigned*)in)[i];
}

static void launch(cudaStream_t stream, int work, const unsigned* in, unsigned* out, size_t n, long long cycles) {
  int blocks = n > 65536 ? 1056 : 132;
  if (work == SPIN || work == COPY) invert<<<blocks, 256, 0, stream>>>(in, out, n, cycles);
  if (work == LAUNCHES_40 || work == GRAPH_10) {
    int count = work == GRAPH_10 ? 10 : 40;
    for (int i = 0; i < count; i++) invert<<<132, 256, 0, stream>>>(in + n / count * i, out + n / count * i, i + 1 < count ? n / count : n - n / count * i, 0);
  }
}

struct Shared { CUdeviceptr in, out, words; };

static CUmemGenericAllocationHandle create(size_t bytes, int* fd) {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle;
  CHECK(cuMemCreate(&handle, bytes, &prop, 0));
  CHECK(cuMemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  return handle;
}
static CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t bytes) {
  CUdeviceptr p;
  CHECK(cuMemAddressReserve(&p, bytes, 0, 0, 0));
  CHECK(cuMemMap(p, bytes, 0, handle, 0));
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK(cuMemSetAccess(p, bytes, &access, 1));
  return p;
}
static void send_fd(int channel, int fd) {
  char byte = 'x', room[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &part; message.msg_iovlen = 1; message.msg_control = room; message.msg_controllen = sizeof room;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET; head->cmsg_type = SCM_RIGHTS; head->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(head), &fd, sizeof fd);
  if (sendmsg(channel, &message, 0) != 1) exit(5);
}
static int receive_fd(int channel) {
  char byte, room[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &part; message.msg_iovlen = 1; message.msg_control = room; message.msg_controllen = sizeof room;
  if (recvmsg(channel, &message, 0) != 1) exit(5);
  int fd;
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

static void serve(Control* c, int channel) {
  int fds[3];
  for (int& fd : fds) fd = receive_fd(channel);
  CHECK(cudaSetDevice(0)); CHECK(cudaFree(0));
  size_t sizes[3] = {BYTES, BYTES, 2ull << 20};
  CUdeviceptr mapped[3];
  for (int i = 0; i < 3; i++) {
    CUmemGenericAllocationHandle handle;
    CHECK(cuMemImportFromShareableHandle(&handle, (void*)(intptr_t)fds[i], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    mapped[i] = map(handle, sizes[i]);
  }
  unsigned *in = (unsigned*)mapped[0], *out = (unsigned*)mapped[1], *aside;
  CUdeviceptr gate = mapped[2], end = mapped[2] + 256;
  CHECK(cudaMalloc(&aside, BYTES));
  cudaStream_t stream, other;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start)); CHECK(cudaEventCreate(&stop));
  invert<<<132, 256, 0, stream>>>(in, aside, 1024, 0);
  CHECK(cudaStreamSynchronize(stream));
  c->finished = -1;
  int turn = 0;
  while (!c->quit) {
    if (c->turn <= turn) continue;
    turn = c->turn;
    int work = c->work, manner = c->manner, problems = c->problems, marks = c->marks;
    size_t n = c->bytes / 4 / problems;
    cudaGraphExec_t graph = nullptr;
    if (work == GRAPH_10) {
      cudaGraph_t captured;
      CHECK(cudaStreamBeginCapture(other, cudaStreamCaptureModeThreadLocal));
      launch(other, work, in, out, n, 0);
      CHECK(cudaStreamEndCapture(other, &captured));
      CHECK(cudaGraphInstantiate(&graph, captured, 0));
      CHECK(cudaGraphUpload(graph, stream)); CHECK(cudaStreamSynchronize(stream));
    }
    if (manner != POLLING) CHECK(cuStreamWaitValue32((CUstream)stream, gate, turn, CU_STREAM_WAIT_VALUE_GEQ));
    else poll<<<132, 256, 0, stream>>>((volatile unsigned*)gate, turn, in, out, n, c->cycles);
    if (manner == ASIDE) CHECK(cuStreamWaitValue32((CUstream)other, gate, turn, CU_STREAM_WAIT_VALUE_GEQ));
    if (manner == END_FIRST || (manner == ASIDE && (marks & END))) CHECK(cuStreamWriteValue32((CUstream)stream, end, turn, CU_STREAM_WRITE_VALUE_DEFAULT));
    if (marks & EVENTS) CHECK(cudaEventRecord(start, stream));
    cudaStream_t used = manner == ASIDE ? other : stream;
    for (int p = 0; p < (manner == POLLING ? 0 : problems); p++) {
      if (graph) CHECK(cudaGraphLaunch(graph, used));
      else if (work == MEMCPY) CHECK(cudaMemcpyAsync(out + p * n, in + p * n, n * 4, cudaMemcpyDeviceToDevice, used));
      else launch(used, work, in + p * n, out + p * n, n, c->cycles);
    }
    if (marks & EVENTS) CHECK(cudaEventRecord(stop, stream));
    if (marks & END) CHECK(cuStreamWriteValue32((CUstream)stream, end, turn, CU_STREAM_WRITE_VALUE_DEFAULT));
    c->enqueued = turn;
    while (c->finished != turn && !c->quit) {}
    CHECK(cudaDeviceSynchronize());
    float ms = 0;
    if (marks & EVENTS) CHECK(cudaEventElapsedTime(&ms, start, stop));
    c->event_us = ms * 1e3;
    if (graph) CHECK(cudaGraphExecDestroy(graph));
    c->finished = -turn - 1;
  }
  _exit(0);
}

int main(int argc, char** argv) {
  int calls = argc > 1 ? atoi(argv[1]) : 40;
  Control* c = (Control*)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  pid_t child = fork();
  if (child == 0) serve(c, ends[1]);
  CHECK(cudaSetDevice(0)); CHECK(cudaFree(0));
  int fds[3];
  size_t sizes[3] = {BYTES, BYTES, 2ull << 20};
  CUdeviceptr mapped[3];
  for (int i = 0; i < 3; i++) { mapped[i] = map(create(sizes[i], &fds[i]), sizes[i]); }
  unsigned *in = (unsigned*)mapped[0], *out = (unsigned*)mapped[1], *copy, *staged, *host, *turns;
  CUdeviceptr gate = mapped[2], end = mapped[2] + 256;
  CHECK(cudaMemset((void*)mapped[2], 0, 2 << 20));
  for (int fd : fds) send_fd(ends[0], fd);
  u64* stamps; int* wrong; unsigned* waste;
  size_t waste_bytes = 128ull << 20;
  CHECK(cudaMalloc(&copy, BYTES)); CHECK(cudaMalloc(&staged, BYTES)); CHECK(cudaMalloc(&stamps, 64)); CHECK(cudaMalloc(&wrong, 4)); CHECK(cudaMalloc(&waste, waste_bytes));
  CHECK(cudaMallocHost(&host, PIECES * PIECE_BYTES)); CHECK(cudaMallocHost(&turns, 4096));
  cudaStream_t compute, copies;
  CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking)); CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
  cudaEvent_t opened, ended, taken;
  for (cudaEvent_t* e : {&opened, &ended, &taken}) CHECK(cudaEventCreate(e));
  while (c->finished != -1) usleep(100);
  int turn = 0;
  auto quantile = [](std::vector<double> x, double q) { std::sort(x.begin(), x.end()); return x[(size_t)(q * (x.size() - 1))]; };
  auto run = [&](Clock clock, const char* name, int work, int manner, size_t bytes, long long cycles, int problems, int pause_us, int marks) {
    std::vector<double> samples, events, hosts, taking, mixed, preparing;
    int bad = 0, poisoned = 0, first_poisoned = 0;
    size_t n = bytes / 4;
    for (int i = 0; i < calls; i++) {
      ++turn;
      unsigned seed = turn * 2654435761u;
      c->work = work; c->manner = manner; c->bytes = bytes; c->cycles = cycles; c->problems = problems; c->marks = marks; c->turn = turn;
      double waited = now_us();
      while (c->enqueued != turn) if (now_us() - waited > 3e6) { printf("%s: not enqueued\n", name); kill(child, SIGKILL); exit(4); }
      kill(child, SIGSTOP);
      int state;
      waitpid(child, &state, WUNTRACED);
      turns[0] = turn;
      double began = now_us();
      CHECK(cudaMemsetAsync(out, 0xff, bytes, compute));
      fill<<<264, 512, 0, compute>>>(staged, n, seed);
      CHECK(cudaMemcpyAsync(in, staged, bytes, cudaMemcpyDeviceToDevice, compute));
      CHECK(cudaMemsetAsync(waste, i, waste_bytes, compute));
      CHECK(cudaEventRecord(opened, compute));
      open_gate<<<1, 1, 0, compute>>>((volatile unsigned*)gate, turn, stamps);
      if (clock == KERNELS) CHECK(cuStreamWaitValue32((CUstream)compute, end, turn, CU_STREAM_WAIT_VALUE_GEQ));
      else CHECK(cuStreamWaitValue32((CUstream)compute, (CUdeviceptr)(turns + 512), turn, CU_STREAM_WAIT_VALUE_EQ));
      cudaStream_t watching = copies;
      if (marks & END) CHECK(cuStreamWaitValue32((CUstream)watching, end, turn, CU_STREAM_WAIT_VALUE_GEQ));
      CHECK(cudaEventRecord(ended, watching));
      std::vector<size_t> places;
      size_t piece = std::min<size_t>(PIECE_BYTES, bytes);
      for (int p = 0; p < PIECES; p++) {
        size_t room = (bytes - piece) / piece;
        size_t at = (p == 0 ? room : room ? rand() % (room + 1) : 0) * piece;
        places.push_back(at);
        CHECK(cudaMemcpyAsync((char*)host + p * PIECE_BYTES, (char*)out + at, piece, cudaMemcpyDeviceToHost, watching));
      }
      CHECK(cudaEventRecord(taken, watching));
      snapshot<<<264, 512, 0, compute>>>(stamps + 1, out, copy, n);
      if (clock == TURNS) {
        while (cudaEventQuery(opened) == cudaErrorNotReady) {}
        double opening = now_us();
        preparing.push_back(opening - began);
        while (now_us() - opening < pause_us) {}
        *(volatile unsigned*)(turns + 512) = turn;
      }
      CHECK(cudaStreamSynchronize(compute)); CHECK(cudaStreamSynchronize(copies));
      hosts.push_back(now_us() - began);
      kill(child, SIGCONT);
      if (work != NOTHING && work != MEMCPY) {
        CHECK(cudaMemset(wrong, 0, 4));
        compare<<<264, 512, 0, compute>>>(copy, n, seed, wrong);
        int found;
        CHECK(cudaStreamSynchronize(compute));
        CHECK(cudaMemcpy(&found, wrong, 4, cudaMemcpyDeviceToHost));
        bad += found != 0;
        bool any = false;
        for (int p = 0; p < PIECES; p++)
          for (size_t k = 0; k < piece / 4; k++) {
            bool is_bad = host[p * PIECE_BYTES / 4 + k] != ~(seed ^ (unsigned)(places[p] / 4 + k));
            any |= is_bad;
            if (is_bad && p == 0) { first_poisoned++; break; }
          }
        poisoned += any;
      }
      u64 told[2];
      CHECK(cudaMemcpy(told, stamps, 16, cudaMemcpyDeviceToHost));
      float ms;
      samples.push_back((told[1] - told[0]) * 1e-3);
      CHECK(cudaEventElapsedTime(&ms, opened, ended)); mixed.push_back(ms * 1e3);
      CHECK(cudaEventElapsedTime(&ms, ended, taken)); taking.push_back(ms * 1e3);
      c->finished = turn;
      while (c->finished != -turn - 1) {}
      events.push_back((double)c->event_us);
    }
    printf("%-7s %-26s clock %8.2f [%8.2f %8.2f]  to the end word %8.2f  events %8.2f  prepared %6.0f  host %6.0f us  wrong %d, pieces wrong %d of %d\n",
           clock == TURNS ? "turns" : "kernels", name, quantile(samples, .5), quantile(samples, .1), quantile(samples, .9), quantile(mixed, .5),
           quantile(events, .5), preparing.empty() ? 0 : quantile(preparing, .5), quantile(hosts, .5), bad, poisoned, calls);
    fflush(stdout);
  };
  const size_t K = 1 << 10, M = 1 << 20;
  struct Kind { const char* name; int work; size_t bytes; long long cycles; int problems; };
  Kind kinds[] = {{"nothing", NOTHING, 4 * K, 0, 1}, {"4 KiB", COPY, 4 * K, 0, 1}, {"2k cycles", SPIN, 4 * K, 2000, 1}, {"4k cycles", SPIN, 4 * K, 4000, 1},
                  {"10k cycles", SPIN, 4 * K, 10000, 1}, {"40k cycles", SPIN, 4 * K, 40000, 1}, {"400k cycles", SPIN, 4 * K, 400000, 1},
                  {"copy 1 MiB", COPY, 1 * M, 0, 1}, {"copy 4 MiB", COPY, 4 * M, 0, 1}, {"copy 16 MiB", COPY, 16 * M, 0, 1}, {"copy 64 MiB", COPY, 64 * M, 0, 1},
                  {"40 launches, 4 MiB", LAUNCHES_40, 4 * M, 0, 1}, {"graph of 10, 4 MiB", GRAPH_10, 4 * M, 0, 1}, {"memcpy 16 MiB", MEMCPY, 16 * M, 0, 1}};
  auto all = [&](const char* title, Clock clock, int manner, int marks, int pause_us) {
    printf("== %s\n", title);
    for (Kind& k : kinds)
      if (manner != POLLING || k.work == SPIN || k.work == COPY) run(clock, k.name, k.work, manner, k.bytes, k.cycles, k.problems, pause_us, marks);
  };
  all("end word, events", KERNELS, HONEST, EVENTS | END, 0);
  all("end word", KERNELS, HONEST, END, 0);
  all("end word, aside", KERNELS, ASIDE, END, 0);
  all("turn after 40 us", TURNS, HONEST, 0, 40);
  all("turn after 0 us", TURNS, HONEST, 0, 0);
  all("turn after 40 us, with an end word", TURNS, HONEST, END, 40);
  all("turn after 40 us, aside", TURNS, ASIDE, 0, 40);
  all("turn after 40 us, polling", TURNS, POLLING, 0, 40);
  all("end word, polling", KERNELS, POLLING, END, 0);
  c->quit = 1;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return 0;
}
