package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manual returns the manual pages by file name: one for each command a person can
// see. They carry no date and no version, so that building twice gives the same.
func manual(root *cobra.Command) map[string]string {
	pages := map[string]string{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		pages[pageName(c)+".1"] = manPage(c)
		for _, sub := range visible(c) {
			walk(sub)
		}
	}
	walk(root)
	return pages
}

// visible are the commands below c that help shows.
func visible(c *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, sub)
		}
	}
	return list
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func manPage(c *cobra.Command) string {
	c.InitDefaultHelpFlag()
	var b roff
	b.line(".TH %q 1 %q %q %q", strings.ToUpper(pageName(c)), "", c.Root().Name(), c.Root().Name()+" manual")
	b.section("NAME")
	b.line(`%s \- %s`, escape(pageName(c)), escape(c.Short))
	b.section("SYNOPSIS")
	path, rest, _ := strings.Cut(c.UseLine(), c.CommandPath())
	b.line(`%s\fB%s\fR%s`, escape(path), escape(c.CommandPath()), escape(rest))
	b.section("DESCRIPTION")
	b.prose(cmp.Or(c.Long, c.Short+"."))
	if subs := visible(c); len(subs) > 0 {
		b.section("COMMANDS")
		for _, sub := range subs {
			b.item(`\fB`+escape(sub.CommandPath())+`\fR`, sub.Short)
		}
	}
	b.options("OPTIONS", c.NonInheritedFlags())
	b.options("GLOBAL OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		b.section("EXAMPLES")
		b.block(c.Example)
	}
	if see := related(c); len(see) > 0 {
		b.section("SEE ALSO")
		b.line("%s", strings.Join(see, ", "))
	}
	return b.String()
}

// related are the pages above and below.
func related(c *cobra.Command) []string {
	var list []string
	if c.HasParent() {
		list = append(list, `\fB`+escape(pageName(c.Parent()))+`\fR(1)`)
	}
	for _, sub := range visible(c) {
		list = append(list, `\fB`+escape(pageName(sub))+`\fR(1)`)
	}
	return list
}

// roff is a page in the language of man(7).
type roff struct{ strings.Builder }

func (b *roff) line(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

func (b *roff) section(name string) { b.line(".SH %s", name) }

func (b *roff) item(head, text string) {
	b.line(".TP\n%s\n%s", head, escape(text))
}

// prose writes paragraphs; lines that are indented keep their form.
func (b *roff) prose(text string) {
	for i, par := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.line(".PP")
		}
		var kept []string
		for line := range strings.Lines(par) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
				kept = append(kept, line)
				continue
			}
			if len(kept) > 0 {
				b.block(strings.Join(kept, "\n"))
				kept = nil
			}
			b.line("%s", escape(line))
		}
		if len(kept) > 0 {
			b.block(strings.Join(kept, "\n"))
		}
	}
}

// block writes lines as they stand.
func (b *roff) block(text string) {
	b.line(".nf")
	for line := range strings.Lines(text) {
		b.line("%s", escape(strings.TrimRight(line, "\n")))
	}
	b.line(".fi")
}

func (b *roff) options(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		head := `\fB` + escape("--"+f.Name) + `\fR`
		if f.Shorthand != "" && f.ShorthandDeprecated == "" {
			head = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + head
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			head += ` \fI` + escape(value) + `\fR`
		}
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		b.item(head, usage)
	})
}

var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...")

// escape makes text that roff shows as it stands, also at the start of a line.
func escape(s string) string {
	s = special.Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
