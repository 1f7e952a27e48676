process BLITZFASTQ_MERGE {
    tag "${meta.id}"
    label 'process_single'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(plan), path(reads), path(shards)

    output:
    tuple val(meta), path("*.blitz.fastq.gz"), emit: reads
    tuple val(meta), path("*.fastp.json"), emit: json
    tuple val(meta), path("*.fastp.html"), emit: html
    tuple val("${task.process}"), val('blitzfastq'), eval("blitz-fastq --version 2>&1 | sed 's/.* //'"), topic: versions, emit: versions_blitzfastq

    when:
    task.ext.when == null || task.ext.when

    script:
    // The files of the shards stay: they are those of other tasks.
    """
    blitz-fastq merge \\
        --plan plan.json \\
        --keep_shards
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    echo "" | gzip > ${prefix}.blitz.fastq.gz
    touch ${prefix}.fastp.json ${prefix}.fastp.html
    """
}
