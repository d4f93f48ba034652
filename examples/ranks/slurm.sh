#!/usr/bin/env bash
# One run on four machines, two ranks on each:  sbatch examples/ranks/slurm.sh --workload retinanet-train
# The folder must be one that all machines see. Options of `harness run` go behind the script's name.
#SBATCH --job-name=harness
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=28
#SBATCH --exclusive
#SBATCH --time=08:00:00
set -eu

# Who knows it gets in. Without it the ranks know each other by the number of the job, which all can see.
HARNESS_RUN_KEY="$(od -An -N16 -tx1 /dev/urandom | tr -d ' ')"
export HARNESS_RUN_KEY

# Where one rank is lost, the others have still to hand over what they measured.
exec srun --cpus-per-task="$SLURM_CPUS_PER_TASK" --cpu-bind=cores --kill-on-bad-exit=0 \
  "${HARNESS:-./build/release/harness}" run --rendezvous-timeout 120 "$@"
