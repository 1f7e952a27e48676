process BLITZFASTQ_PLAN {
    tag "${meta.id}"
    label 'process_low'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(reads)
    val shards

    output:
    tuple val(meta), path("{plan.json,shard-0000.plan.json.*}"), emit: plan
    tuple val("${task.process}"), val('blitzfastq'), eval("blitz-fastq --version 2>&1 | sed 's/.* //'"), topic: versions, emit: versions_blitzfastq

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def first = reads instanceof List ? reads[0] : reads
    def files = meta.single_end
        ? "-i ${first} -o ${prefix}.blitz.fastq.gz"
        : "-i ${reads[0]} -I ${reads[1]} -o ${prefix}_1.blitz.fastq.gz -O ${prefix}_2.blitz.fastq.gz"
    """
    blitz-fastq plan \\
        --shards ${shards} \\
        --thread ${task.cpus} \\
        ${files} \\
        -j ${prefix}.fastp.json \\
        -h ${prefix}.fastp.html \\
        -R ${prefix} \\
        ${args}
    """

    stub:
    """
    echo '{"shards": [{}, {}]}' > plan.json
    """
}
