#!/usr/bin/env bash
# Slurm Prolog: a node whose GPU stack is broken gets no GPU job. Slurm drains the node when this fails.
# Only a fault that was found drains: a node that could not be judged (exit code 3, a timeout) is logged.
set -u
export PATH="${PATH:-/usr/bin:/bin}" # Slurm sets none
[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0

flashdoctor=${FLASHDOCTOR:-/opt/flashdoctor.pyz}
environment=${FLASHDOCTOR_PYTHON:-/opt/llm}
code=0
verdict=$(timeout 60 "$flashdoctor" check --python "$environment" --smoke off --quiet 2>&1) || code=$?
if [ "$code" != 0 ]; then
  logger -t flashdoctor -- "job ${SLURM_JOB_ID:-unknown}: exit code $code: $verdict" || true
fi
[ "$code" != 1 ]
