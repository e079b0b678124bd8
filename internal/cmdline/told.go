package cmdline

import (
	"path"
	"strings"
)

// words carries words; one that is not known is a doubt, but for what commands print, which is carried by itself.
func (c *Carried) words(ws []Word, file bool) {
	for _, w := range ws {
		c.unknown = c.unknown || !w.Known() || w.Joined
		c.args = c.args || w.Output
		if w.Pattern && strings.ContainsAny(w.Text, "{}") {
			_, ok := ExpandBraces(w.Text)
			c.unknown = c.unknown || !ok
		}
		c.text(w.Text, file)
	}
}

// text carries one text, which another shell may expand. file says that it goes into a file.
func (c *Carried) text(text string, file bool) {
	if len(c.tokens) > maxTokens || len(text) > maxShell {
		c.unknown = true
		return
	}
	if !c.first(carriedText{text: text, file: file, makes: c.makes}) {
		return
	}
	c.unknown = c.unknown || expansion().MatchString(text) || strings.HasSuffix(strings.TrimRight(text, "\n"), `\`) || file && goesOn(text) ||
		c.makes && makeExpansion().MatchString(text) || file && strings.Contains(unescape(text), "\x00")
	if strings.ContainsAny(text, "|<>(\n") && !c.unknown {
		c.code(text, file)
		if decoded := unescape(text); decoded != text {
			c.code(decoded, file)
		}
	}
	c.readings(text)
}

// goesOn reports a text with a line that goes on: which line is behind it in a file is not known.
func goesOn(text string) bool {
	return strings.HasSuffix(strings.TrimRight(unescape(text), "\n"), `\`)
}

// makeExpansion is what make expands, to nothing often.
var makeExpansion = Pattern(`\$[^$\s]`)

var braces = strings.NewReplacer("{", "", "}", "")

// ReadingsOf are a text as programs of other languages may read it.
func ReadingsOf(text string) []string {
	if !strings.ContainsAny(text, "'\"\\") {
		return []string{text}
	}
	decoded := unescape(text)
	all := []string{text, decoded, bareQuotes.Replace(text), bareQuotes.Replace(decoded), joinedLiterals().ReplaceAllString(decoded, "")}
	if short := shortHex().ReplaceAllString(text, "\\x{${1}}${2}"); short != text {
		all = append(all, unescape(short))
	}
	return all
}

// readings keeps the tokens of a text as each program might read it.
func (c *Carried) readings(text string) {
	from := len(c.tokens)
	defer func() { c.Told = append(c.Told, Told{c.by, text, c.tokens[from:], c.aside}) }()
	for _, reading := range ReadingsOf(text) {
		if strings.ContainsRune(reading, '{') {
			for _, field := range strings.Fields(reading) {
				all, ok := ExpandBraces(field)
				c.unknown = c.unknown || !ok
				all = append(all, braces.Replace(field)) // r{m} to curl
				for _, t := range all {
					c.tokens = append(c.tokens, tokensOf(t)...)
				}
			}
		}
		tokens := tokensOf(reading)
		if strings.ContainsRune(reading, '[') {
			tokens = append(tokens, tokensOf(bracketed().ReplaceAllString(reading, "?"))...)
		}
		c.tokens = append(c.tokens, tokens...)
		phrase := strings.ContainsAny(text, " \t\n")
		var options []string
		for _, t := range tokens {
			if t[0] == '-' {
				options = append(options, t)
			}
			if base := path.Base(t); strings.Trim(base, "*") == "" && (phrase && t != base && strings.TrimRight(t, "/") != base || strings.ContainsAny(path.Dir(strings.TrimRight(t, "/")), "*?[") || strings.Contains(t, "bin/") || t != text && strings.ContainsAny(text, "!;|&(")) {
				c.wild = c.wild || strings.Contains(base, "*")
			}
		}
		if phrase && len(options) > 0 {
			c.phrases = append(c.phrases, options)
		}
		if strings.Contains(reading, "~") {
			c.tokens = append(c.tokens, tokensOf(strings.ReplaceAll(reading, "~/", "/"))...)
		}
	}
}

// hides reports whether a text for another program runs what it does not show, when a shell reads it:
// echo "f fr- mr" | rev | sh. other says that it is no shell text.
func (c *Carried) hides(text string) (hidden, other bool) {
	if *c.budget -= len(text); *c.budget < 0 {
		return true, true
	}
	r := c.read(text)
	if r.Unparsed {
		return false, true
	}
	in := carry(r, c.read, c.budget)
	return in.Opaque || in.unknown, false
}

// code finds hidden commands in a text for another program, or in one that goes into a file.
func (c *Carried) code(text string, file bool) {
	if file {
		hidden, other := c.hides(text)
		line, _, _ := strings.Cut(text, "\n")
		c.unknown = c.unknown || hidden || other && strings.Contains(text, "(") || strings.HasPrefix(line, "#!") && !strings.HasSuffix(strings.TrimSpace(line), "sh")
		return
	}
	starts := []string{text}
	for _, mark := range []string{"=", "!", ";", ":"} {
		if _, rest, ok := strings.Cut(text, mark); ok {
			starts = append(starts, rest)
		}
	}
	for _, start := range starts {
		if strings.ContainsAny(start, "|<>") && !c.unknown {
			c.unknown, _ = c.hides(start)
		}
	}
}
