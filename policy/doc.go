// Package policy holds the rules of a team and answers questions about them: may this tool call run, who
// may send this kind, who may decide this request, how risky is it. It is pure: no I/O, no clock, no
// environment, no goroutines, no state. The same question always gets the same answer.
//
// Two calls carry most programs:
//
//	v := policy.Policy{Mode: policy.ModeDefault, Allow: rules}.Judge(call) // allow, ask or deny, and why
//	ok, why := policy.MaySend(kind, from, to, channel)                     // may this have an effect?
//
// # How a call is judged
//
// Deny rules are applied first, then what the mode forbids, then allow rules, then what the mode allows; a
// call that none of them decides asks, unless it runs in a verified sandbox and the policy allows that
// (Policy.Sandboxed). Modes lists what each mode does with each area of work, and is the
// table that Judge itself reads.
//
// A shell text is read as the list of the simple commands that it runs (cmdline.Read). It is allowed when an allow rule or
// the mode covers each of them: a command that only prints, reads what Read may read and writes what Write may write needs
// no rule for Bash. It is denied when a command that it may run is one of a deny rule's, or when a deny rule of Read, Edit
// or Write matches a file that a listed command of it reads or writes.
//
// Nothing is allowed on a guess. A deny rule that might match, a path that cannot be resolved from the
// text alone, a shell text with a part that cannot be parsed: each makes the call ask, under every mode
// and every allow rule. An input that two readers could read differently (duplicate keys, two spellings of
// one key, invalid UTF-8, lone surrogates) is denied.
//
// # Guarantees
//
// Adding a deny rule never widens, removing an allow rule never widens, quoting a word differently never
// changes the answer, a && b is never freer than a and b, and a policy made by Within never allows what
// its ceiling does not. The package's tests state each as a property.
//
// # Limits
//
// A rule judges a text; it is not a sandbox. Bash(git:*) allows git -c core.pager=x log, and Bash(go
// test:*) allows whatever code the agent has just written into a test, and a program may read a file that a rule denies
// without naming it: what git has recorded of one is such a case. A deny rule finds a command in the
// text of one call: the denied program anywhere in the words of a command that cmdline.LookUp does not list as pure asks,
// and so does a part by which it might come (cmdline.Carried). It does not find what a script, a Makefile or an earlier call
// has written. Without Call.Links paths are cleaned as text, and a symbolic link inside the working directory
// may lead out of it; with Links a path is judged by the target that it had when it was resolved, and the
// program that runs the call must hold it to that path. Only the literal part of a pattern is resolved:
// Read(**/.env) does not deny the file that a link named .env leads to under its own name. Host names are
// compared as text: a redirect leads elsewhere. The boundary is the sandbox (trust §8).
//
// Sources: protocol §1.0, §1.7, §1.8, §5.3; trust §1, §3, §8; trust §9.
package policy
