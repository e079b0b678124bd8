// Package view holds what faces show of a team: the JSON documents, and the words, lines and
// columns for people. A face calls one function for a fact of the operator packages: Status
// makes the document, StatusPage the page for people.
//
// The functions are plain: they read no file and no clock. A document has the field names of
// docs/commands.md. A page has no colours and no command texts: a Span has a Role and a
// Step, which the face spells for its users.
package view
