package cmdline

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// neutral reports a variable that no program reads, as far as is known.
func neutral(name string) bool {
	if !identifier().MatchString(name) || changesCommands(name) || runsValue().MatchString(name) || zshNames[name] || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "zsh_") {
		return false
	}
	return neutralNames[name] ||
		strings.ToLower(name) == name && !strings.HasPrefix(name, "npm_") && !strings.HasSuffix(name, "_proxy")
}

// zshNames are the variables of zsh that have lower-case names.
var zshNames = Names(`path cdpath fpath manpath mailpath module_path fignore psvar argv status histchars prompt prompt2 prompt3 prompt4 dirstack commands
	functions aliases galiases saliases options watch widgets keymaps nameddirs userdirs usergroups modules parameters history historywords jobstates jobdirs
	jobtexts pipestatus signals terminfo termcap funcstack match mbegin mend reply errnos sysparams mapfile langinfo builtins reswords patchars
	dis_aliases dis_builtins dis_functions dis_galiases dis_patchars dis_reswords dis_saliases funcfiletrace funcsourcetrace functrace functions_source`)

var neutralNames = Names(`BASE BRANCH COMMIT COUNT DEST DIR DIRS DST F FILE FILES HASH I LINE MSG N NAME OUT PKG PKGS PORT ROOT SHA SRC TARGET TEST VERSION`)

func (r *reader) words(all []*syntax.Word) []Word {
	out := make([]Word, len(all))
	for i, w := range all {
		out[i] = r.word(w)
	}
	return out
}

func (r *reader) word(w *syntax.Word) Word {
	if r.shellsDiffer(w.Parts) {
		r.unclear(w, "an expansion that shells read differently")
	}
	return unquote(w, r.expand)
}

// shellsDiffer reports a text behind $NAME that zsh takes for a subscript or a modifier, and a $ that is none to bash.
func (r *reader) shellsDiffer(parts []syntax.WordPart) bool {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.DblQuoted:
			if r.shellsDiffer(p.Parts) {
				return true
			}
		case *syntax.Lit:
			if odd := strings.TrimSuffix(p.Value, "$"); oddDollar().MatchString(odd) || odd != p.Value && i+1 < len(parts) {
				return true
			}
		case *syntax.ParamExp:
			if p.Short && i+1 < len(parts) {
				if l, ok := parts[i+1].(*syntax.Lit); ok && (zshBehind().MatchString(l.Value) || p.Param.Value == "#" && l.Value != "" && WordByte(l.Value[0])) {
					return true
				}
			}
		}
	}
	return false
}

var oddDollar, zshBehind = Pattern(`(^|[^\\])\$[^ )|/"\n]`), Pattern(`^(\[|:[a-zA-Z&])`)

// expand says what is known of an expansion.
func (r *reader) expand(part syntax.WordPart, quoted bool) Word {
	switch p := part.(type) {
	case *syntax.CmdSubst:
		if p.TempFile || p.ReplyVar {
			break
		}
		fed, piped, begin := r.fed, r.piped, len(r.Commands)
		r.fed, r.piped = names{}, false
		r.shell(p.Stmts)
		r.fed, r.piped = fed, piped
		r.inWords = append(r.inWords, [2]int{begin, len(r.Commands)})
		w := outputOf(r.names.lines(), r.names)
		if countsLines(p.Stmts) {
			w = number
		}
		w.Split = !quoted
		return w
	case *syntax.ArithmExp:
		if names, ok := arithmetic(p); ok && !slices.ContainsFunc(names, func(n string) bool { return !r.counters[n] }) {
			return number
		}
	case *syntax.ProcSubst:
		if p.Op == syntax.CmdIn {
			begin := len(r.Commands)
			r.shell(p.Stmts)
			happens(r.Commands[begin:], *r.steps, anyTime) // nobody waits for it
			r.inWords = append(r.inWords, [2]int{begin, len(r.Commands)})
			return Word{Output: true, Below: true}
		}
	case *syntax.ParamExp:
		if p.Excl || p.Param != nil && secretName().MatchString(p.Param.Value) {
			from, to := offsets(p)
			r.Secrets = append(r.Secrets, [2]int{from, to})
		}
		if plainParam(p) {
			if index, ok := p.Index.(*syntax.Word); ok && p.Param.Value == "PIPESTATUS" && index.Lit() != "" && strings.Trim(index.Lit(), "0123456789") == "" {
				return number
			}
			if p.Index == nil {
				return r.value(p.Param.Value, quoted)
			}
		}
		if cutsEnd(p) {
			return Word{Split: !quoted}
		}
	}
	r.unclear(part, "an expansion that is not understood")
	return Word{}
}

// number is the word for a number that the text does not show.
var number = Word{Text: "0", Output: true}

// arithmetic returns the names in $(( )); ok is false where more than names, numbers and their operators stand in it.
func arithmetic(x *syntax.ArithmExp) (names []string, ok bool) {
	text := PrintShell(&syntax.Word{Parts: []syntax.WordPart{x}})
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("$()+-*/%<>=!&| ", c) }) {
		if strings.Trim(part, "0123456789") == "" {
			continue
		}
		if !identifier().MatchString(part) {
			return nil, false
		}
		names = append(names, part)
	}
	return names, !strings.Contains(strings.TrimPrefix(text, "$(("), "$(")
}

// countersOf are the variables that a text sets, and to nothing but numbers.
func countersOf(file *syntax.File) map[string]bool {
	counters, others := map[string]bool{}, map[string]bool{}
	sums := map[string][]string{}
	syntax.Walk(file, func(n syntax.Node) bool {
		var a *syntax.Assign
		switch n := n.(type) {
		case *syntax.Assign:
			a = n
		case *syntax.WordIter:
			others[n.Name.Value] = true
		case *syntax.CallExpr:
			if words := readWords(n.Args); len(words) > 0 && words[0].Text == "read" {
				for _, w := range words[1:] {
					others[w.Text] = true
				}
			}
		}
		if a == nil || a.Name == nil {
			return true
		}
		name := a.Name.Value
		counters[name] = false
		if a.Value == nil || a.Append || a.Index != nil || len(a.Value.Parts) != 1 || !neutral(name) {
			others[name] = true
			return true
		}
		switch p := a.Value.Parts[0].(type) {
		case *syntax.Lit:
			others[name] = others[name] || strings.Trim(p.Value, "0123456789") != ""
		case *syntax.ArithmExp:
			names, plain := arithmetic(p)
			sums[name] = append(sums[name], names...)
			others[name] = others[name] || !plain
		default:
			others[name] = true
		}
		return true
	})
	_, sure := assigned(file)
	for changed := true; changed; {
		changed = false
		for name, of := range sums {
			if _, counts := counters[name]; counts && slices.ContainsFunc(of, func(n string) bool { _, ok := counters[n]; return !ok || others[n] }) && !others[name] {
				others[name], changed = true, true
			}
		}
	}
	for name := range counters {
		if others[name] || len(sums[name]) == 0 || !sure {
			delete(counters, name)
		}
	}
	return counters
}

// cutsEnd reports ${NAME%PATTERN} and its kin with a literal pattern, and ${#NAME}.
func cutsEnd(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Index != nil || p.Excl || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Width || p.IsSet || p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0 {
		return false
	}
	switch {
	case p.Exp == nil:
		return p.Length
	case p.Exp.Op != syntax.RemSmallPrefix && p.Exp.Op != syntax.RemLargePrefix && p.Exp.Op != syntax.RemSmallSuffix && p.Exp.Op != syntax.RemLargeSuffix:
		return false
	}
	return p.Exp.Word == nil || p.Exp.Word.Lit() != "" && !strings.ContainsAny(p.Exp.Word.Lit(), "$`(")
}

// plainParam reports $NAME, ${NAME} and ${NAME[INDEX]}.
func plainParam(p *syntax.ParamExp) bool {
	return p.Param != nil && p.NestedParam == nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Split == 0 && p.GlobSubst == 0 &&
		p.RcExpand == 0 && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// value is what is known of a variable.
func (r *reader) value(name string, quoted bool) Word {
	switch name {
	case "?", "#", "$":
		return number
	case "PWD":
		_, set := r.values[name]
		if !set && !r.lost && r.after == "" && len(r.dirs) == 1 && strings.HasPrefix(r.cwd, "/") && (quoted || plainPath(r.cwd)) {
			return Lit(r.cwd)
		}
		return Word{Split: !quoted}
	}
	if r.counters[name] && !r.lost {
		return number
	}
	v := r.values[name]
	if r.lost {
		v = Word{}
	}
	switch bare := withoutWildcards.Replace(v.Text); {
	case v.Output:
		v.Split = !quoted
		return v
	case quoted && v.Sure != guessed, v.Sure == Literal && plainPath(v.Text), v.Pattern && plainPath(bare+"."):
		if *r.size += len(v.Text); *r.size > maxSize {
			return Word{}
		}
		v.Split = v.Split && !quoted
		return v
	}
	return Word{Split: !quoted} // a shell cuts it into words, or takes it for a pattern
}

var withoutWildcards = strings.NewReplacer("*", "", "?", "", "[", "", "]", "")

// plainPath reports a text that stays as it is without quotes.
func plainPath(text string) bool {
	return text != "" && strings.IndexFunc(text, func(c rune) bool {
		return c != '-' && c != '.' && c != '/' && c != '+' && c != ':' && c != ',' && c != '@' && (c > 127 || !WordByte(byte(c)))
	}) < 0
}
