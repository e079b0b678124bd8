package view

import "waggle/operator"

// Page is the content for a person, in order.
type Page []Block

// Block is a line, or a table where Table is set.
type Block struct {
	Line  Line
	Table *Table
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
	Plain Role = iota
	Strong
	Faint
	Warning
	Good
	Bad
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
	// Bare says that Head is not shown and that rows are indented.
	Bare bool
}

func plain(text string) Span   { return Span{Text: text} }
func strong(text string) Span  { return Span{Role: Strong, Text: text} }
func faint(text string) Span   { return Span{Role: Faint, Text: text} }
func warning(text string) Span { return Span{Role: Warning, Text: text} }
func good(text string) Span    { return Span{Role: Good, Text: text} }
func bad(text string) Span     { return Span{Role: Bad, Text: text} }

// step is what to do next, for the team that the page is about.
func step(n operator.Next) Span { return Span{Role: Faint, Next: n, Scoped: true} }

// wholeStep is a step that names all that it needs.
func wholeStep(n operator.Next) Span { return Span{Role: Faint, Next: n} }

func (p *Page) line(spans ...Span) { *p = append(*p, Block{Line: spans}) }

func (p *Page) table(t Table) { *p = append(*p, Block{Table: &t}) }
