// Package cmdline reads a command line as a shell would, without running it: the commands that it
// starts, also those that other commands carry (sh -c, env, xargs, find -exec), their words and how
// certain each is, where output flows, which of them are known to be pure, and how risky each is.
// It is pure: it reads no file.
//
//	r := cmdline.Read(text, cwd, leads)        // the commands in order, or what is unclear: allows
//	e := cmdline.EffectOf(r.Commands[0].Words) // the files that one reads and writes
//	f, ok := cmdline.LookUp(r.Commands[0].Words) // what is known of it
//	c := cmdline.Carry(r, read)                // everything else that may run: denies
//
// Whatever cannot be parsed or is unknown is reported as such (Reading.Unclear, Carried.Opaque,
// Unknown), so that the caller, package policy, asks a person.
package cmdline
