// Package view holds what faces show of a team: the words, lines and columns for people, and the JSON documents that
// are more than one fact. A fact of the operator packages has its JSON tags, and is its own document (page.Document): a
// face gives that and, for people, its page.
//
// The functions are plain: they read no file and no clock. A document has the field names of
// docs/commands.md. A page has no colours and no command texts: a Span has a Role and a
// Step, which the face spells for its users.
package view
