process BLITZFASTQ_RUN {
    tag "${meta.id} ${shard}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(plan), path(reads), val(shard)

    output:
    tuple val(meta), path("shard-${String.format('%04d', shard)}.*"), emit: shard
    tuple val("${task.process}"), val('blitzfastq'), eval("blitz-fastq --version 2>&1 | sed 's/.* //'"), topic: versions, emit: versions_blitzfastq

    when:
    task.ext.when == null || task.ext.when

    script:
    """
    blitz-fastq run \\
        --plan plan.json \\
        --shard ${shard} \\
        --thread ${task.cpus}
    """

    stub:
    """
    touch shard-${String.format('%04d', shard)}.plan.json.state
    """
}
