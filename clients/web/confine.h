/* Restricts otolith-web once its port is open and its tokens are in their file. */
#ifndef WEB_CONFINE_H
#define WEB_CONFINE_H

/*
 * After this call this thread and all later threads cannot gain privileges, execute a program, inspect another process, or make
 * another kind of socket than that of the world. If the kernel has Landlock, they cannot write, make or remove a file or open a
 * port either. A restriction that the kernel does not support is left out; `otolith doctor` reports it.
 */
void web_confine(void);

#endif
