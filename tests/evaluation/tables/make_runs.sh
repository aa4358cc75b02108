#!/bin/sh
# Makes the run folders that the golden tables are printed from, and the tables:
#   sh tests/evaluation/tables/make_runs.sh
set -e
cd "$(dirname "$0")"
rm -rf runs && mkdir runs
PYTHONPATH=../../plugin; export PYTHONPATH
b2r="python -m bench2robust.cli.main"
few="--benchmark toy-library --seeds 2 --workers 1"
$b2r run $few --agents naive,strategic --mix 30/40/30 --out runs/plain
$b2r run $few --agents naive --modes inject --out runs/learned
$b2r memory estimate runs/learned -o runs/memory.json
$b2r run $few --agents reader --modes inject --out runs/base
for variant in dynamic static shuffled full; do
    $b2r run $few --agents reader --modes inject --memory runs/memory.json --memory-variant $variant --out runs/$variant
done
$b2r run $few --agents reader --modes inject --memory runs/memory.json --update online --wave 4 --out runs/online
$b2r sweep --clean-prob .6,.9 --limits 3:1,5:2 $few --agents naive,strategic --out runs/sweep
rm -rf runs/learned runs/memory.json

golden=../../golden
for name in main gap strategy errors transfer efficiency; do
    $b2r table $name runs/plain --paper -o $golden/table_$name.md
done
$b2r table btm runs/base runs/dynamic runs/static runs/shuffled runs/full runs/online --paper -o $golden/table_btm.md
$b2r table severity runs/sweep --paper -o $golden/table_severity.md
