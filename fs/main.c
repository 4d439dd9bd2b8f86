/* SPDX-License-Identifier: MIT */
/* main.c - the command line program, and the map of the source.
 *
 * gguf/	the format; knows no FUSE and no files, only bytes
 *	printable error bytes.h arena names	what of names must not be printed, failures,
 *			arithmetic, small strings, a hash index
 *	types		ggml types: names, blocks, sizes
 *	cursor		reading untrusted bytes in order
 *	reader reader_tensors		a GGUF: metadata and tensor infos
 *	anatomy		a tensor's class, kind, block and file name by its name
 *	role		may a tensor of one name stand in the place of another
 *	organ		the organ file
 *	layout layout_header		the plan of an assembled GGUF
 *	shard join divide	the plan of the GGUF that shards are together, and of shards
 *	dequant dequant_*	the values in a tensor's blocks
 *	pair		low-rank pairs: names and shapes
 *
 * measure/	numbers in, numbers out; knows neither GGUF nor files
 *	sample		which values of a tensor are looked at
 *	zmeasure zstream	θ and its indicators, of a sample and of all values; on
 *	moments distribution score radix
 *	lanes.h complex_lanes.h	several numbers worked on at once
 *	purify		what the purifiers of a row have in common; they are:
 *	fractal		detail that exists at one scale only
 *	spectral	the weak part of the spectrum; on
 *	fft dft fourier	KissFFT's short transforms joined; of any length; of real values
 *	tail		the least of many energies, within a budget
 *	muldiv		a product of 64-bit numbers, divided
 *	lora quantise	a row with an adapter merged; as F16, BF16 and Q8_0
 *
 * fs/		the filesystem; each module uses those above it
 *	plural.h log pool readers waiting buffers io paths	nouns after numbers; messages;
 *			threads for slow jobs, those that read from disks, and who waits for
 *			them; reply buffers; reads and writes; directories and names
 *	frames frames_*	bytes that are compressed on disk, and any of which can be read
 *	descriptors backing backing_* view	a file on disk, open or open by turns; the content
 *			of one file of the mount, as segments
 *	space		how much room there is where it lies
 *	rows		a backing whose bytes are made, row by row
 *	floats encode	a tensor's values, and values that were computed as a ggml type again
 *	matrices merged	a tensor with low-rank pairs merged into it, row by row
 *	joined shards shards_* base	the shards of a split model, and the file they are together
 *	utf8 value value_text value_parse key_filename	metadata as text and back
 *	fingerprint donor adapter_list slots	which base; where a graft came from; adapters at one
 *			moment; what each tensor is now: the base's, a graft, or nothing
 *	layer layer_* reference	grafts on disk: directories, of which base, files, where they came
 *			from, changes that can be undone, checksums
 *	metadata metadatum	what each metadata key is now: the base's, edited, or nothing
 *	seen resolve probes look links	where symbolic links lead, found out without hanging
 *	mountinfo openings trace	which mounts there are; where the bytes that a process
 *			writes come from
 *	stage		a file being written
 *	model graft graft_* edit	a mounted model; what is done to its slots and metadata
 *	layer_adapters adapters adapters_* adapt	adapters: on disk, what they make of slots,
 *			what is done to them
 *	layer_undo undo undo_list	changes undone in one step; which there are
 *	memo_state.h once	what is found out of each organ, by a job, when somebody asks
 *	sampling measure_result.h tensor_measures	from organs on disk to their Z-measures
 *	files		organ files and model.gguf, as views
 *	npy purified experts forms	organs in other forms, as .views shows them
 *	experts_edit	one expert of a stack, or their order, changed
 *	hash_result.h hashes	from organ files to their hashes, each made once
 *	cells theta	texts with cells that are measured when they are read: tables, NAME.theta
 *	checksums gguf_hash	the same with hashes: checksums.xxh128, .views/gguf-hash.xxh64
 *	figures sheet	texts made as a whole from all Z-measures; what they show:
 *	card card_read report	.theta of a model
 *	palette grid grid_* picture picture_* chart	theta.svg: colours; what it shows, row by
 *			row, and how far each tensor is from its row; drawn
 *	follow		metadata that follows the blocks that are there
 *	check check_* warning	.check: what speaks against the grafts in force; the worst of it
 *	manifest json texts	what the other files of the mount contain
 *	collection announce	the models of a mount; what is said of them when it begins
 *	caller turns	with whose rights; one after another
 *	progress.h share fill written assemble divided assembly	writing: bytes from file to file the
 *			cheapest way, all of a view, as a file that is whole or not there, as
 *			shards; .assemble
 *	words inode.h inodes handles	what is written to .undo; what inode numbers stand for; open
 *			files
 *	scratches	names in class directories that are no slots
 *	writers pending generated	who is about to write; what is about to be in force; files
 *			made from a state
 *	mounted		a model in a mount with such files
 *	tally ranking standings overview	several of them, beside each other
 *	table table_* merge summary	.table of a model; a report of many such, without a mount
 *	viewing drawing	models looked at without a mount; theta.svg of one or two
 *	terminal screen screen_* witness show	the picture for a terminal, of a model or, by its
 *			files, of one in a mount
 *	status		how far the end of a mount is, for whoever waits for it
 *	fs arrivals	the mount; shards that come and go while it is there
 *	ops ops_*	the FUSE operations on it; slow ones answer by ops_later
 *	finish		the end of a mount: what was grafted is written down
 *	config options options_*	files of defaults; the command line and what it means
 *	utab mountpoint session main	what umount(8) has to know; what may be mounted on; life of
 *			a mount
 *
 * mount-helpers/	around it; mount.organfs and organfs-umount are a program with its own map
 *
 * A read goes: ops_file -> view -> backing. One that measures: ops_file -> ops_later -> view ->
 * cells -> measures -> sampling -> backing, dequant, zmeasure; one that hashes: cells -> hashes ->
 * files (a view) -> backing. A graft: ops_write -> stage -> graft -> layer -> slots. An assembly:
 * slots -> layout -> files (a view) -> assemble. */
#include "fs/fuse/session.h"
#include "fs/mount/config.h"
#include "fs/report_command.h"
#include "fs/show_command.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

/* The process that starts us may have closed them, and a base must not become standard output. */
static int fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	return fd < 0 ? -1 : close(fd);
}

/* Every graft keeps a descriptor open. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int mount_models(const struct options *options)
{
	struct log *log = log_new(options->foreground);
	struct unmount_status *status;
	struct models collection;
	struct error err = { 0 };
	const char *culprit = NULL;
	char text[320];
	int rc = 1;

	if (!log) {
		log_error("out of memory");
		return 1;
	}
	status = unmount_status_new();
	openlog("organfs", LOG_PID, LOG_DAEMON);
	raise_descriptor_limit();
	if (models_open(&collection, options, log, &culprit, &err) < 0)
		log_error("%s: %s", culprit, error_describe(&err, text, sizeof(text)));
	else
		rc = session_run(options, log, &collection, status);
	models_close(&collection);
	log_free(log);
	/* A process that waits for the end finds all locks released, those of the layers too. */
	unmount_status_free(status);
	return rc;
}

int main(int argc, char **argv)
{
	struct options options;
	char *users_file;
	int rc = 0;

	if (fill_standard_descriptors() < 0)
		return 1;
	users_file = config_users_path();
	if (options_parse(&options, argc, argv, CONFIG_SYSTEM, users_file) < 0)
		rc = 2;
	else if (options.help)
		fputs(options_help(), stdout);
	else if (options.version)
		puts("organfs " ORGANFS_VERSION);
	else if (options.report)
		rc = report_command((const char *const *)options.models, options.n_models,
				    options.report_model);
	else if (options.picture)
		rc = picture_command(&options);
	else if (options.show)
		rc = show_command(&options);
	else
		rc = mount_models(&options);
	options_release(&options);
	free(users_file);
	return rc;
}
