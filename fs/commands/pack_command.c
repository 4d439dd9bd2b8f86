/* SPDX-License-Identifier: MIT */
/* pack_command.c - see pack_command.h. */
#include "fs/commands/pack_command.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/quantise_types.h"
#include "fs/commands/terminal_progress.h"
#include "fs/edit/adapter_edit.h"
#include "fs/edit/symlinks.h"
#include "fs/files/assembly.h"
#include "fs/model/model.h"
#include "fs/mount/models.h"
#include "fs/mount/options.h"
#include "fs/recipe/recipe_ancestry.h"
#include "fs/recipe/recipe_lineage.h"
#include "fs/util/log.h"
#include "gguf/error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ends the thread that waits for signals. */
#define WATCH_OVER SIGUSR2

/* Waits for a signal that ends the assembly. No handler is used: it could reach the flag of this
 * assembly through a global variable only. */
struct watch {
	sigset_t signals;
	pthread_t thread;
	bool started;
	atomic_bool stopped, over;
};

/* The first signal stops the assembly. A second one ends the process, also where a disk does not
 * answer. */
static void *watch_signals(void *context)
{
	struct watch *watch = context;
	int number;

	while (sigwait(&watch->signals, &number) == 0 && !atomic_load(&watch->over)) {
		if (number == WATCH_OVER)
			continue;
		if (atomic_exchange(&watch->stopped, true)) {
			pthread_sigmask(SIG_UNBLOCK, &watch->signals, NULL);
			raise(number);
		}
	}
	return NULL;
}

static void watch_begin(struct watch *watch)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction now;

	atomic_init(&watch->stopped, false);
	atomic_init(&watch->over, false);
	sigemptyset(&watch->signals);
	sigaddset(&watch->signals, WATCH_OVER);
	/* nohup(1) and shells have a process ignore some of them. */
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&watch->signals, ending[i]);
	pthread_sigmask(SIG_BLOCK, &watch->signals, NULL);
	watch->started = pthread_create(&watch->thread, NULL, watch_signals, watch) == 0;
	/* Then a signal ends the process, and the next assembly removes what is left. */
	if (!watch->started)
		pthread_sigmask(SIG_UNBLOCK, &watch->signals, NULL);
}

static void watch_end(struct watch *watch)
{
	if (!watch->started)
		return;
	atomic_store(&watch->over, true);
	pthread_kill(watch->thread, WATCH_OVER);
	pthread_join(watch->thread, NULL);
}

static bool look(void *context, uint64_t *done, uint64_t *total)
{
	struct assembly_progress progress;

	if (!assembly_progress(context, &progress) || !progress.total)
		return false;
	*done = progress.done;
	*total = progress.total;
	return true;
}

static int pack(struct model *model, const char *path, enum write_replace replace)
{
	struct assembly *assembly = assembly_new(model, NULL, NULL);
	struct terminal_progress *progress;
	struct watch watch;
	int rc;

	if (!assembly)
		return offline_models_fail(path, -ENOMEM);
	watch_begin(&watch);
	progress = terminal_progress_begin(model->name, NULL, look, assembly, model->log);
	rc = assembly_run(assembly, path, replace, getpid(), &watch.stopped);
	terminal_progress_end(progress);
	watch_end(&watch);
	assembly_free(assembly);
	return rc;
}

/* With the adapters and the importance matrix of a layer. Links of organs are followed by mounts
 * alone. */
static int pack_followed(struct model *model, const struct options *options)
{
	struct symlinks *links = symlinks_new(&model, 1, false);
	struct recipe_ancestry ancestry;
	struct recipe_lineage lineage;
	int rc = -1;

	if (!links)
		return offline_models_fail(options->models[0], -ENOMEM);
	model->links = links;
	recipe_ancestry_init(&ancestry);
	recipe_lineage_init(&lineage, model, &ancestry);
	if (options->lineage)
		recipe_lineage_show(&lineage);
	adapter_edit_refresh(model, false);
	if (!options->types || quantise_types(model, options) == 0)
		rc = pack(model, options->mountpoint,
			  options->foreground ? REPLACE_ANY : REPLACE_MARKED);
	recipe_lineage_release(&lineage);
	recipe_ancestry_release(&ancestry);
	symlinks_free(links);
	return rc;
}

int pack_command(const struct options *options)
{
	struct log *log = log_new(true);
	const char *culprit = NULL;
	struct models models;
	struct error err = { 0 };
	char text[320];
	int rc = -1;

	if (!log)
		return offline_models_fail(options->models[0], -ENOMEM) < 0;
	if (models_open(&models, options, log, &culprit, &err) < 0)
		offline_models_report("%s: %s", culprit, error_describe(&err, text, sizeof(text)));
	else if (models.n != 1)
		offline_models_report("%s: it holds %u models, and one is packed",
				      options->models[0], (unsigned)models.n);
	else
		rc = pack_followed(models.models[0], options);
	models_close(&models);
	log_free(log);
	return rc < 0;
}
