package testenv

import (
	"os"
	"strings"
	"testing"
)

// Block is an indented block of a page: commands, a file, or what a command shows.
type Block struct {
	Mark  string   // the text of a comment that stands between the block and the words before it
	Lines []string // without the indent
}

// Blocks reads the indented blocks of a page of documentation.
func Blocks(t testing.TB, file string) (blocks []Block) {
	t.Helper()
	b, err := os.ReadFile(file)
	Must(t, err)
	mark, within := "", false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		text, indented := strings.CutPrefix(line, "    ")
		comment, isComment := strings.CutPrefix(line, "<!-- ")
		switch {
		case line == "":
		case indented && !within:
			blocks, within = append(blocks, Block{mark, []string{text}}), true
		case indented:
			last := &blocks[len(blocks)-1]
			last.Lines = append(last.Lines, text)
		case isComment:
			mark, within = strings.TrimSuffix(comment, " -->"), false
		default:
			mark, within = "", false
		}
	}
	return blocks
}

// Command is a line of a block without its comment.
func Command(line string) string {
	command, _, _ := strings.Cut(line, " # ")
	return strings.TrimSpace(command)
}
