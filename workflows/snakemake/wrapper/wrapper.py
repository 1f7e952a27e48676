"""Runs a step of blitz-fastq: plan, run or merge. `params.words` begins with the step."""

from os.path import dirname, join

from snakemake.shell import shell

step, _, words = snakemake.params.words.partition(" ")
program = snakemake.params.get("program", "blitz-fastq")
named = snakemake.input.get("plan")
plan = named or join(dirname(snakemake.output[0]), "plan.json")
log = snakemake.log_fmt_shell(stdout=True, stderr=True)
shell("{program} {step} --plan {plan:q} {words} {log}")
