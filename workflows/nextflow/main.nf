// Samples times shards of blitz-fastq. See README.md.

include { BLITZFASTQ_PLAN  } from './modules/blitz-io/blitzfastq/plan/main'
include { BLITZFASTQ_RUN   } from './modules/blitz-io/blitzfastq/run/main'
include { BLITZFASTQ_MERGE } from './modules/blitz-io/blitzfastq/merge/main'

// Returns the plan itself, which may have files beside it.
def planOf(files) {
    return files instanceof List ? files.find { file -> file.name == 'plan.json' } : files
}

workflow {
    samples = Channel.fromPath(params.input, checkIfExists: true)
        .splitCsv(header: true)
        .map { row ->
            def reads = [row.fastq_1, row.fastq_2].findAll { name -> name }
            [[id: row.sample, single_end: reads.size() == 1], reads.collect { name -> file(name, checkIfExists: true) }]
        }

    BLITZFASTQ_PLAN(samples, params.shards)

    // The plan says how many shards a sample has.
    shards = BLITZFASTQ_PLAN.out.plan
        .join(samples)
        .flatMap { meta, plan, reads ->
            def count = new groovy.json.JsonSlurper().parse(planOf(plan)).shards.size()
            (1..count).collect { shard -> [groupKey(meta, count), plan, reads, shard] }
        }

    BLITZFASTQ_RUN(shards)

    // A sample is merged as soon as its own shards are there.
    merges = BLITZFASTQ_RUN.out.shard
        .groupTuple()
        .map { meta, files -> [meta.target, files.flatten()] }
    BLITZFASTQ_MERGE(BLITZFASTQ_PLAN.out.plan.join(samples).join(merges))
}
