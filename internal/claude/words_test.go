package claude

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "waggle/internal/test/testenv/seeded"
)

// A word that could name a file is escaped; an address, a version and a quoted name are left alone.
func TestUnnamed(t *testing.T) {
	for words, want := range map[string]string{
		"":                    "",
		"look at @secret.txt": `look at \@secret.txt`,
		"@secret.txt":         `\@secret.txt`,
		"a\n@a\t@b\u00a0@c\u3000@d\u2028@e\ufeff@f": "a\n\\@a\t\\@b\u00a0\\@c\u3000\\@d\u2028\\@e\ufeff\\@f",
		`@"a b"`:                            `\@"a b"`,
		"。@a é@b (@c) ,@d @@e":              `。\@a é\@b (\@c) ,\@d \@\@e`,
		"npm i react@18 @types/node":        `npm i react@18 \@types/node`,
		"ann@example.com, a_@b, a.@b, a-@b": "ann@example.com, a_@b, a.@b, a-@b",
		"from '@angular/core' `@a` \"@b\"":  "from '@angular/core' `@a` \"@b\"",
		`\@already`:                         `\@already`,
	} {
		if got := unnamed(words); got != want {
			t.Errorf("%q becomes %q, want %q", words, got, want)
		}
	}
}

// Without the backslashes that were added the words are as they were, and no "@" is left behind what the
// client may take for the end of a word.
func TestUnnamedKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringOf(rapid.SampledFrom([]rune("@@@\\ab1 \n\t。(\"'`\u00a0\u3000é.-_"))).Draw(t, "words")
		got := unnamed(words)
		if strings.ReplaceAll(got, `\@`, "@") != strings.ReplaceAll(words, `\@`, "@") {
			t.Fatalf("%q becomes %q", words, got)
		}
		for _, end := range []string{" ", "\n", "\t", "。", "(", "\u00a0", "\u3000", "é", "@"} {
			if strings.Contains(got, end+"@") || strings.HasPrefix(got, "@") {
				t.Fatalf("%q becomes %q, with a name", words, got)
			}
		}
	})
}
