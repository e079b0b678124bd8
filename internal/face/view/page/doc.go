// Package page is what every page for people is made of: lines, tables, spans in roles, the step that
// comes next, and times. It knows nothing of what a page is about.
package page
