// gradient: the method of conjugate gradients, an application with two global sums in each step that survives failures.
//
// The method: M. R. Hestenes, E. Stiefel, 1952, Methods of conjugate gradients for solving linear systems, DOI
// 10.6028/jres.049.044. solve() has all that Cairn needs: it protects the vectors and numbers that a step takes over
// from the one before. A job that was killed ends with the bits of one that was not, if it runs on as many ranks.
#include <cmath>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>

#include <cairn/cairn.hpp>

#include "blocks.hpp"
#include "halo.hpp"
#include "options.hpp"
#include "poisson.hpp"

namespace {

using gradient::Vector;

void say(const std::string& text) { std::cout << "gradient: " << text << std::endl; }

// The norm of b − A x, on rank 0. Collective.
double residual_norm(const Vector& b, const Vector& x, const gradient::Blocks& blocks, gradient::Beside& beside,
                     MPI_Comm comm) {
  Vector residual(b.size());
  blocks.exchange_halo(x, beside);
  gradient::apply_stencil(x, beside, residual);
  gradient::add_to_multiple(b, -1, residual);
  const double mine = gradient::product(residual, residual);
  double all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
  return std::sqrt(all);
}

void write(const Vector& whole, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(whole.data()), static_cast<std::streamsize>(whole.size() * sizeof whole[0]));
  file.close();
  if (!file) throw std::runtime_error(path + ": cannot be written; is the disk full?");
}

void solve(cairn::Session& session, const gradient::Options& options) {
  const MPI_Comm comm = session.comm();
  const bool speaks = examples::rank_of(comm) == 0;
  const auto problem = gradient::share(options.problem, comm);
  const auto rows = static_cast<std::size_t>(problem.rows);
  const auto cols = static_cast<std::size_t>(problem.cols);
  const gradient::Blocks blocks(rows, cols, comm);
  gradient::Beside beside(cols);

  // The solution x, its residual r = b − A x, the direction p, and ρ = r · r of the step before. While p is 0, the next
  // direction is r, whatever ρ is. So no sum is needed before the loop.
  const Vector b(blocks.points(), gradient::load(rows));
  Vector x(b.size());
  Vector r = b;
  Vector p(b.size());
  double rho = 1;
  std::int64_t step = 0;

  const cairn::GlobalPlace place{{rows, cols}, {blocks.first_row(), 0}};
  session.protect("x", x, place);
  session.protect("r", r, place);
  session.protect("p", p, place);
  session.protect("rho", rho);
  session.protect("step", step);
  // Ranks do not communicate between restore() and the loop: a rank that rolls back alone would find nobody there.
  const auto report = session.restore();
  if (speaks) say(report.restored ? fmt::format("continues at step {}:", step) : "starts at step 0");

  Vector a_p(b.size());
  while (step < problem.steps) {
    const double rho_before = std::exchange(rho, gradient::sum(gradient::product(r, r), comm));
    if (std::sqrt(rho) <= problem.tolerance) break;
    gradient::add_to_multiple(r, rho / rho_before, p);
    blocks.exchange_halo(p, beside);
    gradient::apply_stencil(p, beside, a_p);
    const double alpha = rho / gradient::sum(gradient::product(p, a_p), comm);
    gradient::add(alpha, p, x);
    gradient::add(-alpha, a_p, r);
    ++step;
    session.snapshot();
    if (session.should_stop()) {
      if (speaks) say(fmt::format("asked to stop after step {}; the next run continues from here", step));
      return;
    }
    if (options.pause.count() > 0) std::this_thread::sleep_for(options.pause);
  }
  const double norm = residual_norm(b, x, blocks, beside, comm);
  const Vector whole = blocks.gather(x);
  if (!speaks) return;
  write(whole, options.output);
  say(fmt::format("after {} steps the norm of the residual is {:.17g}; {} holds the solution", step, norm,
                  options.output));
}

// Every rank reads the same command line, so one may speak for all.
int run(int argc, char** argv) {
  const bool speaks = examples::rank_of(MPI_COMM_WORLD) == 0;
  const auto command_line = gradient::parse_command_line(argc, argv);
  if (!command_line.options) {
    if (speaks) (command_line.exit_code == 0 ? std::cout : std::cerr) << command_line.text << std::flush;
    return command_line.exit_code;
  }
  return cairn::run(MPI_COMM_WORLD, command_line.options->config,
                    [&](cairn::Session& session) { solve(session, *command_line.options); });
}

}  // namespace

int main(int argc, char** argv) {
  // MPI_Init will do, but for [head] mode = thread, where a thread of the first rank of each node communicates too.
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const int exit_code = run(argc, argv);
  MPI_Finalize();
  return exit_code;
}
