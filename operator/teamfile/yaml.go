package teamfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"

	"waggle/agent"
	"waggle/operator"
)

// Bounds of the YAML that waggle reads: team files and the user's own file. The parser
// recurses, keeps a path for each node, and copies a mapping for each of its keys, so
// what it is given is bounded before it builds anything (FORMAT, "Team file").
const (
	maxYAMLLine = 4 << 10 // bytes of a line

	maxYAMLBlank = 32 // empty lines in a row: the lexer copies a block's text for each

	maxYAMLOpen = 64 // opening brackets with nothing between them

	maxYAMLTokens = 20_000

	maxYAMLDepth = 20

	maxYAMLKeys = 1000 // of one mapping

	maxYAMLKey = 128 // bytes of a key
)

// parseYAML reads a text of one YAML document within the bounds. It is refused before
// the tree is built: first by its bytes, then by its tokens, which are the library's
// own, so that no quote or comment is understood in two ways. The tree is checked once
// more, and what the schema has as a text is one in it (texts); long: a short form is the mapping that
// it stands for. Errors name the file and the line, and are of kind Usage.
func parseYAML(op, path string, data []byte, schema reflect.Type, long bool) (*ast.File, error) {
	refuse := func(r *refused) error {
		return &operator.Error{Kind: operator.Usage, Op: op, Msg: fmt.Sprintf("%s:%d: %s", path, r.line, r.why)}
	}
	if len(data) > operator.MaxYAML {
		return nil, TooLarge(op, path)
	}
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if r := checkBytes(data); r != nil {
		return nil, refuse(r)
	}
	tokens := scanYAML(string(data))
	if r := checkTokens(tokens); r != nil {
		return nil, refuse(r)
	}
	tree, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, usage(op, path, err)
	}
	for _, d := range tree.Docs {
		if d.Body == nil {
			continue
		}
		if r := checkNode(d.Body, 0); r != nil {
			return nil, refuse(r)
		}
		d.Body = texts(d.Body, schema, long)
	}
	return tree, nil
}

// alone are the keys whose value may stand in the file for the whole mapping, as a text: a short form.
var alone = map[reflect.Type]string{
	reflect.TypeFor[yamlCheck]():          "run",
	reflect.TypeFor[yamlRestart]():        "policy",
	reflect.TypeFor[yamlPlan]():           "revisions",
	reflect.TypeFor[agent.SayStep]():      "text",
	reflect.TypeFor[agent.NetworkStep]():  "host",
	reflect.TypeFor[agent.AskStep]():      "questions",
	reflect.TypeFor[agent.AskedPart]():    "question",
	reflect.TypeFor[agent.Option]():       "label",
	reflect.TypeFor[agent.ProgressStep](): "message",
}

// unfold is the mapping that a short form stands for, or the list for a text alone; its texts only when
// long is not set; nil: n is no short form.
func unfold(n ast.Node, schema reflect.Type, long bool) ast.Node {
	key, value := alone[schema], schema
	if key != "" {
		value = valueType(schema, key)
	}
	several := value == reflect.TypeFor[yamlTexts]()
	list, _ := n.(*ast.SequenceNode)
	switch text := isScalar(n); {
	case n.Type() == ast.NullType || key == "" && !several:
		return nil
	case text && value.Kind() == reflect.Slice:
		one := texts(n, value.Elem(), long)
		if !long {
			return one
		}
		list = ast.Sequence(n.GetToken(), true)
		list.Values, n = []ast.Node{one}, list
	case text, key != "" && several && list != nil && !slices.ContainsFunc(list.Values, func(v ast.Node) bool { return !isScalar(v) }):
		n = texts(n, value, long)
	default:
		return nil
	}
	if key == "" || !long {
		return n
	}
	at := n.GetToken()
	return ast.Mapping(at, true, ast.MappingValue(at, ast.String(token.String(key, key, at.Position)), n))
}

// isScalar reports a node that is no list and no mapping.
func isScalar(n ast.Node) bool {
	_, ok := n.(ast.ScalarNode)
	return ok
}

// texts is the tree with a text for each word that the schema has as one, as it is written in the
// file: 0755, 1.10, 0x1F, true and ~ stay what they are. YAML would make a number of them, and that
// would be run. A value of any type is what JSON has for it: a number that JSON has not is a text.
// Null is a text only where a key is never without a value (no pointer).
func texts(n ast.Node, schema reflect.Type, long bool) ast.Node {
	null := true // null may be a text
	for schema.Kind() == reflect.Pointer {
		schema, null = schema.Elem(), false
	}
	if whole := unfold(n, schema, long); whole != nil {
		return whole
	}
	text := schema.Kind() == reflect.String || schema == reflect.TypeFor[yamlBrake]() // which may be a word
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			texts(v, schema, long)
		}
	case *ast.MappingValueNode:
		if value := valueType(schema, n.Key.GetToken().Value); value != nil && n.Value != nil {
			n.Value = texts(n.Value, value, long)
		}
	case *ast.SequenceNode:
		if schema.Kind() == reflect.Slice && schema != anyMapping {
			schema = schema.Elem()
		}
		for i, v := range n.Values {
			n.Values[i] = texts(v, schema, long)
		}
	case *ast.NullNode:
		if null && schema.Kind() == reflect.String && n.Token.Type != token.ImplicitNullType {
			return ast.String(n.Token)
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		if free := schema == anyMapping || schema.Kind() == reflect.Interface; free && !json.Valid([]byte(n.GetToken().Value)) {
			return ast.String(n.GetToken())
		}
		if text {
			return ast.String(n.GetToken())
		}
	case *ast.BoolNode:
		if text {
			return ast.String(n.Token)
		}
	}
	return n
}

// anyMapping is a mapping with the user's own keys.
var anyMapping = reflect.TypeFor[yaml.MapSlice]()

// valueType is the type that a schema has for the value of a key; nil: none.
func valueType(schema reflect.Type, key string) reflect.Type {
	switch {
	case schema == anyMapping || schema.Kind() == reflect.Interface:
		return schema
	case schema.Kind() == reflect.Map:
		return schema.Elem()
	case schema.Kind() != reflect.Struct:
		return nil
	}
	for i := range schema.NumField() {
		f := schema.Field(i)
		name, _, _ := strings.Cut(cmp.Or(f.Tag.Get("yaml"), f.Tag.Get("json")), ",")
		switch {
		case name == key:
			return f.Type
		case f.Anonymous:
			return valueType(f.Type.Elem(), key)
		}
	}
	return nil
}

// TooLarge refuses a file above operator.MaxYAML.
func TooLarge(op, path string) error {
	return &operator.Error{Kind: operator.Usage, Op: op, Msg: fmt.Sprintf("%s: more than %d bytes", path, operator.MaxYAML),
		Advice: "long texts belong into files that the commands name"}
}

// byteOrderMark may begin a file that was written on Windows.
const byteOrderMark = "\uFEFF"

// refused is the reason why a text is not parsed.
type refused struct {
	line int
	why  string
}

func refusef(line int, format string, args ...any) *refused {
	return &refused{max(line, 1), fmt.Sprintf(format, args...)}
}

// checkBytes bounds the work of the lexer, which scans the rest of a line, and the empty lines
// after a block, many times.
func checkBytes(data []byte) *refused {
	line, start, blank, open := 1, 0, 0, 0
	empty := true // only white space in this line so far
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c == '\n' || c == '\r':
			if c == '\r' && i+1 < len(data) && data[i+1] == '\n' {
				i++
			}
			if blank++; !empty {
				blank = 0
			}
			if blank > maxYAMLBlank {
				return refusef(line, "more than %d empty lines in a row", maxYAMLBlank)
			}
			i++
			line, start, empty = line+1, i, true
			continue
		case c == ' ' || c == '\t':
		case c < ' ' || c == 0x7f:
			return refusef(line, `a control character: \x%02x`, c)
		case c == '[' || c == '{':
			open, empty = open+1, false
		default:
			open, empty = 0, false
		}
		if open > maxYAMLOpen {
			return refusef(line, "nested deeper than %d", maxYAMLDepth)
		}
		if i-start >= maxYAMLLine {
			return refusef(line, "a line of more than %d bytes: write a long text as a block (key: |) of several lines", maxYAMLLine)
		}
		n := 1
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return refusef(line, "not UTF-8")
			}
			n = size
		}
		i += n
	}
	return nil
}

// scanYAML splits a text into tokens, up to the first invalid one.
func scanYAML(text string) token.Tokens {
	var s scanner.Scanner
	var all token.Tokens
	s.Init(text)
	for {
		some, err := s.Scan()
		if errors.Is(err, io.EOF) {
			return all
		}
		all.Add(some...)
		if err != nil {
			return all // the parser reports the error of the last token
		}
	}
}

// refusedTokens are features of YAML that waggle refuses: a person reads them in one way and the
// parser in another, or they cost more work than their length.
var refusedTokens = map[token.Type]string{
	token.AnchorType:      "an anchor (&): write the value out where it is used",
	token.AliasType:       "an alias (*): write the value out; a text that begins with * goes into quotes",
	token.TagType:         "a tag (!): values have the type that the key wants; a text that begins with ! goes into quotes",
	token.MergeKeyType:    "a merge key (<<): write its keys out",
	token.DirectiveType:   "a directive (%): leave it out",
	token.MappingKeyType:  "a key of its own (?): write it as key: value",
	token.DocumentEndType: "the end of a document (...): want one YAML document",
}

// level is a mapping or sequence that tokens have opened.
type level struct {
	column int        // of a block; 0 in brackets
	keys   int        // of a block mapping
	colons int        // in brackets: since the last comma
	flow   bool       // opened by a bracket
	end    token.Type // the bracket that closes it
}

// checkTokens bounds the work of the parser.
func checkTokens(tokens token.Tokens) *refused {
	var open []level
	var prev *token.Token
	for i, t := range tokens {
		if i >= maxYAMLTokens {
			return refusef(t.Position.Line, "more than %d words and signs in the file", maxYAMLTokens)
		}
		line := t.Position.Line
		if why, no := refusedTokens[t.Type]; no {
			return refusef(line, "%s", why)
		}
		flow := len(open) > 0 && open[len(open)-1].flow
		switch t.Type {
		case token.CommentType:
			continue
		case token.DocumentHeaderType:
			if prev != nil {
				return refusef(line, "a second document (---): want one YAML document")
			}
		case token.SequenceStartType:
			open = append(open, level{flow: true, end: token.SequenceEndType})
		case token.MappingStartType:
			open = append(open, level{flow: true, end: token.MappingEndType})
		case token.SequenceEndType, token.MappingEndType:
			if !flow || open[len(open)-1].end != t.Type {
				return refusef(line, "a %s that closes nothing", t.Value)
			}
			open = open[:len(open)-1]
		case token.CollectEntryType:
			if flow {
				open[len(open)-1].colons = 0
			}
		case token.SequenceEntryType:
			if !flow {
				open = descend(open, t.Position.Column)
			}
		case token.MappingValueType:
			if r := checkKey(prev, line); r != nil {
				return r
			}
			if flow {
				open[len(open)-1].colons++
				break
			}
			open = descend(open, prev.Position.Column)
			l := &open[len(open)-1]
			if l.keys++; l.keys > maxYAMLKeys {
				return refusef(line, "more than %d keys in one mapping", maxYAMLKeys)
			}
		}
		depth := len(open)
		for _, l := range open {
			depth += max(0, l.colons-1) // {a: b: c} nests without a bracket
		}
		if depth > maxYAMLDepth {
			return refusef(line, "nested deeper than %d", maxYAMLDepth)
		}
		prev = t
	}
	return nil
}

// descend closes the blocks right of a column, and opens one there.
func descend(open []level, column int) []level {
	for len(open) > 0 && open[len(open)-1].column > column {
		open = open[:len(open)-1]
	}
	if len(open) == 0 || open[len(open)-1].column < column {
		open = append(open, level{column: column})
	}
	return open
}

// checkKey requires a text before a colon: a number or a bracket as a key is easily misread. The
// parser keeps a path of keys for each node.
func checkKey(key *token.Token, line int) *refused {
	if key == nil {
		return refusef(line, "a colon without a key")
	}
	switch key.Type {
	case token.StringType, token.SingleQuoteType, token.DoubleQuoteType:
	default:
		return refusef(line, "%q is no key: a key is a text, a number goes into quotes", operator.Visible(cutText(key.Value)))
	}
	if len(key.Value) > maxYAMLKey {
		return refusef(line, "a key of more than %d bytes", maxYAMLKey)
	}
	return nil
}

// cutText returns the beginning of a text, enough to find it in the file.
func cutText(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// checkNode checks the tree: the kinds of its nodes, its depth, and that no key occurs twice, in
// any spelling.
func checkNode(n ast.Node, depth int) *refused {
	line := 1
	if t := n.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	if depth > 2*maxYAMLDepth { // a mapping in a list may be one level of columns
		return refusef(line, "nested deeper than %d", maxYAMLDepth)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		seen := map[string]int{}
		for _, v := range n.Values {
			if r := checkPair(v, seen, depth); r != nil {
				return r
			}
		}
	case *ast.MappingValueNode:
		return checkPair(n, map[string]int{}, depth)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if r := checkNode(v, depth+1); r != nil {
				return r
			}
		}
	case *ast.StringNode, *ast.LiteralNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.BoolNode, *ast.NullNode:
	default:
		return refusef(line, "%s is not used in this file", n.Type())
	}
	return nil
}

func checkPair(v *ast.MappingValueNode, seen map[string]int, depth int) *refused {
	line := 1
	if t := v.Key.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	key, ok := v.Key.(*ast.StringNode)
	if !ok {
		return refusef(line, "%s is no key: a key is a text", v.Key.Type())
	}
	if first, twice := seen[key.Value]; twice {
		return refusef(line, "key %q is there twice, first in line %d", operator.Visible(cutText(key.Value)), first)
	}
	seen[key.Value] = line
	if v.Value == nil {
		return nil
	}
	return checkNode(v.Value, depth+1)
}

// yamlDuration is a time such as 2s. It reads its node itself: for a type that reads
// text the library walks through all tokens of the file, once for each value.
type yamlDuration time.Duration

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (d *yamlDuration) UnmarshalYAML(n ast.Node) error {
	return readScalar(n, (*time.Duration)(d), time.ParseDuration, "time such as 90s, 10m or 1h30m")
}

// readScalar reads the text of a node that is no null and no list or mapping.
func readScalar[T any](n ast.Node, to *T, read func(string) (T, error), what string) error {
	t := n.GetToken()
	if _, ok := n.(*ast.NullNode); ok || t == nil {
		return nil
	}
	v, err := read(t.Value)
	if _, scalar := n.(ast.ScalarNode); err != nil || !scalar {
		return &yaml.SyntaxError{Message: fmt.Sprintf("%q is no %s", operator.Visible(cutText(t.Value)), what), Token: t}
	}
	*to = v
	return nil
}

// span is a time that is longer than 0 where it is given: none is not the same as no end.
func (c *checker) span(at string, d *yamlDuration) time.Duration {
	if d == nil {
		return 0
	}
	if *d <= 0 {
		c.bad(at, "%s is no time: leave it out for none", time.Duration(*d))
	}
	return time.Duration(*d)
}

// yamlCount is a whole number: the library reads 1.5 as 1.
type yamlCount int64

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (c *yamlCount) UnmarshalYAML(n ast.Node) error {
	return readScalar(n, (*int64)(c), func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }, "whole number")
}
