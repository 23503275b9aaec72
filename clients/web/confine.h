/* What otolith-web gives up once its port is open and its tokens are in their file. */
#ifndef WEB_CONFINE_H
#define WEB_CONFINE_H

/*
 * From here on, for ever and for all threads that follow: no privileges are gained, no program is executed, no other process is
 * inspected, and no other kind of socket than that of the world is made; where the kernel has Landlock, no file is written, made or
 * removed, and no port opened. What a kernel does not have is left out: `otolith doctor` reports it.
 */
void web_confine(void);

#endif
