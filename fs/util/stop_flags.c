/* SPDX-License-Identifier: MIT */
/* stop_flags.c - see stop_flags.h. */
#include "fs/util/stop_flags.h"

#include <pthread.h>
#include <stdlib.h>

struct stop_flags {
	pthread_mutex_t lock; /* protects the members below */
	bool set;
	struct stop_flag *first;
};

struct stop_flags *stop_flags_new(void)
{
	struct stop_flags *flags = calloc(1, sizeof(*flags));

	if (flags)
		pthread_mutex_init(&flags->lock, NULL);
	return flags;
}

void stop_flags_free(struct stop_flags *flags)
{
	if (flags)
		pthread_mutex_destroy(&flags->lock);
	free(flags);
}

void stop_flags_add(struct stop_flags *flags, struct stop_flag *flag, atomic_bool *stop)
{
	flag->stop = stop;
	pthread_mutex_lock(&flags->lock);
	flag->next = flags->first;
	flag->link = &flags->first;
	if (flag->next)
		flag->next->link = &flag->next;
	flags->first = flag;
	if (flags->set)
		atomic_store(stop, true);
	pthread_mutex_unlock(&flags->lock);
}

void stop_flags_remove(struct stop_flags *flags, struct stop_flag *flag)
{
	pthread_mutex_lock(&flags->lock);
	*flag->link = flag->next;
	if (flag->next)
		flag->next->link = flag->link;
	pthread_mutex_unlock(&flags->lock);
}

void stop_flags_set(struct stop_flags *flags)
{
	pthread_mutex_lock(&flags->lock);
	flags->set = true;
	for (struct stop_flag *flag = flags->first; flag; flag = flag->next)
		atomic_store(flag->stop, true);
	pthread_mutex_unlock(&flags->lock);
}
