// Package draft is team files that waggle proposes: for a directory, by what is in it and which
// agents are installed, and for a team that is up, what it amounts to.
//
//	text, err := draft.Template("", draft.Look(dir, environ))  // what waggle init writes
//	text := draft.Open(name, draft.Look(dir, environ))         // a team without members, for waggle new
//
// A draft is a text for a person. It is valid (teamfile.ParseFile), and nothing is started by it.
package draft
