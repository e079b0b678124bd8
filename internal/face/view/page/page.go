// Package page is what every page for people is made of: lines, tables, spans in roles, the step that
// comes next, and times. It knows nothing of what a page is about.
package page

import (
	"slices"
	"strings"

	"waggle/operator"
)

// Page is the content for a person, in order.
type Page []Block

// Block is a line, or a table where Table is set.
type Block struct {
	Line  Line
	Table *Table
	// AsIs says that the line is a part of a text that a narrow face does not break between words.
	AsIs bool
}

// Line is one line of text.
type Line []Span

// Span is a part of a line in one role. It holds Text, or Next, which the face
// spells, or Text and then Next.
type Span struct {
	Role Role
	Text string
	Next operator.Next
	// Color is a member's colour, as the team calls it; "": none.
	Color string
	// Scoped says that the step of Next concerns the team of the page: the face adds the flag that
	// selects that team.
	Scoped bool
}

// Role is the role of a span. The face has a style for each.
type Role int

// The roles of spans.
const (
	RolePlain Role = iota
	RoleStrong
	RoleFaint
	RoleWarning
	RoleGood
	RoleBad
)

// Table is rows of cells under Head.
type Table struct {
	Head []string
	Rows [][]string
	// Names are members: the first cell of a row has the colour of its member. It is nil
	// where cells have no colours.
	Names []string
	// Roles are the roles of the cells, row by row. It is nil where all are plain.
	Roles [][]Role
	// About says that the last cell of a row describes it: a narrow face gives it lines of its own.
	About bool
	// Below are lines that follow each row; nil: none do.
	Below [][]Line
	// Spare are the columns that a face leaves out, in this order, where the rows do not fit. One of
	// Once is left out only where all of its cells are the same, and is told in a line of its own.
	Spare, Once []string
	// Bare says that Head is not shown and that rows are indented.
	Bare bool
	// Do are the next steps of the rows of a Bare table, "" for none: a face ends the row with it, whole.
	Do []operator.Next
}

// Spans of text in one role.

func Plain(text string) Span   { return Span{Text: text} }
func Strong(text string) Span  { return Span{Role: RoleStrong, Text: text} }
func Faint(text string) Span   { return Span{Role: RoleFaint, Text: text} }
func Warning(text string) Span { return Span{Role: RoleWarning, Text: text} }
func Good(text string) Span    { return Span{Role: RoleGood, Text: text} }
func Bad(text string) Span     { return Span{Role: RoleBad, Text: text} }

// Step is what to do next, for the team that the page is about.
func Step(n operator.Next) Span { return Span{Role: RoleFaint, Next: n, Scoped: true} }

// WholeStep is a step that names all that it needs.
func WholeStep(n operator.Next) Span { return Span{Role: RoleFaint, Next: n} }

// Line adds a line; without spans it is empty.
func (p *Page) Line(spans ...Span) { *p = append(*p, Block{Line: spans}) }

// Without is the table without a column, and the cell of all of its rows; same: they all have it.
func (t Table) Without(head string) (rest Table, cell string, same bool) {
	i := slices.Index(t.Head, head)
	if i < 0 {
		return t, "", false
	}
	rest, same = t, len(t.Rows) > 0
	rest.Head = slices.Delete(slices.Clone(t.Head), i, i+1)
	rest.Rows = make([][]string, len(t.Rows))
	for n, r := range t.Rows {
		cell, same = r[i], same && r[i] == t.Rows[0][i]
		rest.Rows[n] = slices.Delete(slices.Clone(r), i, i+1)
	}
	return rest, cell, same
}

// Text adds a line of a text that is shown as it is.
func (p *Page) Text(spans ...Span) { *p = append(*p, Block{Line: spans, AsIs: true}) }

// WithTeam keeps the column TEAM when several are listed, and else leaves it out.
func (t Table) WithTeam(several bool) Table {
	if !several {
		t, _, _ = t.Without("TEAM")
	}
	return t
}

// Table adds a table.
func (p *Page) Table(t Table) { *p = append(*p, Block{Table: &t}) }

// Rows adds a table, unless it has no row.
func (p *Page) Rows(t Table) {
	if len(t.Rows) > 0 {
		p.Table(t)
	}
}

// Spell gives the text of a step in a face's own commands; "" for none.
type Spell func(operator.Next) string

// Sentence is a text with its step. A step that begins with a punctuation mark is appended as it
// is.
func (s Spell) Sentence(of operator.Sentence) string {
	text, step := of.Text, s(of.Do)
	if text != "" && step != "" && !strings.ContainsAny(step[:1], ",:") {
		text += "; "
	}
	return text + step
}
