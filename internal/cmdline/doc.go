// Package cmdline reads a command line as a shell would, without running it: the commands that it
// starts, also those that other commands carry (sh -c, env, xargs, find -exec), their words and how
// certain each is, where output flows, which of them are known to be pure, and how risky each is.
// It is pure: it reads no file.
//
//	r := cmdline.Read(text, cwd, leads)                       // the commands in order, or what is unclear: allows
//	e := cmdline.EffectOf(r.Commands[0].Words)                // the files that one reads and writes
//	s := cmdline.Walk(`git log | xargs -n1 sh -c 'rm "$1"'`) // every command that may run: denies
//	f, ok := cmdline.LookUp(s.Commands[0])                    // what is known of it
//
// Whatever cannot be parsed or is unknown is reported as such (Script.Opaque, Script.Unparsed,
// Unknown), so that the caller, package policy, asks a person.
package cmdline
