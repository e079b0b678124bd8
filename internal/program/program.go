// Package program answers what the command words of a call name: which file a name is
// on the PATH of the process that is to be started, where its links lead, and what a
// script holds that an interpreter is given. It reads and starts nothing else.
//
//	found := finder.Look(program.Launch{Argv: argv, Commands: cmds, Dir: cwd, Env: env}, true)
//
// What is found is true when it was looked up. A caller who lets time pass looks again
// and compares: Changed.
package program

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"waggle/spawn"
)

// maxScript bounds the scripts whose content is bound: a larger file is none that
// somebody reads before allowing it.
const maxScript = 1 << 20

// Command is a command of a shell text: its name, and the file that it is told to run
// where it is an interpreter.
type Command struct{ Name, Script string }

// Launch is a process that is to be started and the commands that its text names.
type Launch struct {
	Argv     []string
	Commands []Command
	Dir      string   // in which it is started
	Env      []string // with which; the last value of PATH counts
}

// Found is what the words of a call name. Of a word that names nothing there is nothing.
type Found struct {
	Program string // the file that Argv[0] is, links resolved
	Words   []Word // of the commands, in order, each name once
	Scripts []Script

	ids map[string]identity // of the programs, by path
}

// Word is a command word and its file, links resolved.
type Word struct{ Name, Path string }

// Script is a file and the SHA-256 of what it held, in hex.
type Script struct{ Path, SHA256 string }

// identity tells a file from another that was put in its place.
type identity struct {
	file    file
	size    int64
	changed time.Time
}

// Finder looks up programs. It remembers where links lead for as long as the file is
// the same. The zero value is ready; it may be used by several goroutines.
type Finder struct {
	mu    sync.Mutex
	known map[string]known // by the name that was found, before its links
}

type known struct {
	id   identity
	path string
}

// maxKnown bounds what a Finder remembers.
const maxKnown = 1024

// builtins are words that a shell runs itself, whatever lies on the PATH.
var builtins = strings.Fields(`: . [ alias bg break cd command continue declare echo eval exec exit export false fg
	getopts hash jobs kill let local popd printf pushd pwd read readonly return set shift source test times
	trap true type typeset ulimit umask unalias unset wait`)

// Look resolves the words of a call; with content it also sums up the scripts.
func (f *Finder) Look(c Launch, content bool) Found {
	out := Found{ids: map[string]identity{}}
	if len(c.Argv) == 0 {
		return out
	}
	path := spawn.Getenv(c.Env, "PATH")
	// What is started directly is looked up in absolute directories only, as package
	// spawn does; a shell takes them all.
	if p, id, ok := f.find(c.Argv[0], path, c.Dir, true); ok {
		out.Program = p
		out.ids[p] = id
	}
	moved := slices.ContainsFunc(c.Commands, func(cmd Command) bool { return slices.Contains([]string{"cd", "pushd", "popd"}, cmd.Name) })
	for _, cmd := range c.Commands {
		relative := !filepath.IsAbs(cmd.Name)
		if !slices.Contains(builtins, cmd.Name) && !(moved && relative && strings.Contains(cmd.Name, "/")) {
			f.word(&out, cmd.Name, path, c.Dir)
		}
	}
	if !content {
		return out
	}
	for _, w := range append([]Word{{c.Argv[0], out.Program}}, out.Words...) {
		f.script(&out, c, path, w.Path)
	}
	for _, cmd := range c.Commands {
		if cmd.Script != "" && !(moved && !filepath.IsAbs(cmd.Script)) {
			out.sum(at(c.Dir, cmd.Script))
		}
	}
	return out
}

// word adds what a name is, once.
func (f *Finder) word(out *Found, name, path, dir string) {
	if slices.ContainsFunc(out.Words, func(w Word) bool { return w.Name == name }) {
		return
	}
	if p, id, ok := f.find(name, path, dir, false); ok {
		out.Words = append(out.Words, Word{name, p})
		out.ids[p] = id
	}
}

// script follows a program that is a text with #!: the text is bound, and the
// interpreter is one more program.
func (f *Finder) script(out *Found, c Launch, path, p string) {
	line, ok := firstLine(p)
	if !ok || !out.sum(p) {
		return
	}
	for i, w := range strings.Fields(line) {
		if i > 1 || i == 1 && (strings.HasPrefix(w, "-") || filepath.Base(strings.Fields(line)[0]) != "env") {
			return // env NAME looks NAME up; other words are arguments
		}
		f.word(out, w, path, c.Dir)
	}
}

// sum binds a script; false when it is none whose content can be bound.
func (out *Found) sum(p string) bool {
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return false
	}
	if slices.ContainsFunc(out.Scripts, func(s Script) bool { return s.Path == real }) {
		return true
	}
	h, ok := hash(real)
	if ok {
		out.Scripts = append(out.Scripts, Script{real, h})
	}
	return ok
}

// noFile is what a word is that names nothing.
const noFile = "no file"

// Changed says what two looks at the same call differ in, "" when they do not: another
// file under the same name, or another content.
func (was Found) Changed(now Found) string {
	if was.Program != now.Program {
		return fmt.Sprintf("the program is %s and was %s", cmp.Or(now.Program, noFile), cmp.Or(was.Program, noFile))
	}
	if len(was.Words) != len(now.Words) {
		return "a command word names another file"
	}
	for i, w := range was.Words {
		if n := now.Words[i]; n != w {
			return fmt.Sprintf("%s is %s and was %s", w.Name, cmp.Or(n.Path, noFile), cmp.Or(w.Path, noFile))
		}
	}
	for p, id := range was.ids {
		if n, ok := now.ids[p]; !ok || !id.same(n) {
			return p + " was replaced or changed"
		}
	}
	if len(was.Scripts) != len(now.Scripts) {
		return "a script is there that was not, or is gone"
	}
	for i, s := range was.Scripts {
		if now.Scripts[i] != s {
			return s.Path + " holds another text"
		}
	}
	return ""
}

// find is the file that a word names, links resolved.
func (f *Finder) find(name, path, dir string, absolute bool) (string, identity, bool) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", identity{}, false
	}
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		return f.real(at(dir, name))
	}
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			if absolute {
				continue
			}
			d = filepath.Join(dir, d) // an empty entry is the directory itself
		}
		for _, ext := range extensions() {
			if p, id, ok := f.real(filepath.Join(d, name+ext)); ok {
				return p, id, true
			}
		}
	}
	return "", identity{}, false
}

func extensions() []string {
	if runtime.GOOS == "windows" {
		return []string{".exe", ".com", ".bat", ".cmd", ""}
	}
	return []string{""}
}

// real follows the links of an executable file.
func (f *Finder) real(p string) (string, identity, bool) {
	fi, err := os.Stat(p)
	if err != nil || !fi.Mode().IsRegular() || runtime.GOOS != "windows" && fi.Mode()&0o111 == 0 {
		return "", identity{}, false
	}
	id := identityOf(fi)
	f.mu.Lock()
	k, ok := f.known[p]
	f.mu.Unlock()
	if ok && k.id.same(id) {
		return k.path, id, true
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return "", identity{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxKnown {
		f.known = map[string]known{}
	}
	f.known[p] = known{id, real}
	return real, id, true
}

func (a identity) same(b identity) bool {
	return a.file == b.file && a.size == b.size && a.changed.Equal(b.changed)
}

func at(dir, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(dir, p)
}

// regular opens a regular file for reading. Nothing else is opened for longer than it
// takes to see what it is: a FIFO does not hold anybody up.
func regular(p string) (*os.File, fs.FileInfo, error) {
	f, err := open(p)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, nil, err
	}
	return f, fi, nil
}

// hash sums up a regular file below maxScript.
func hash(p string) (string, bool) {
	f, fi, err := regular(p)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if fi.Size() >= maxScript {
		return "", false
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxScript))
	if err != nil || n >= maxScript {
		return "", false
	}
	return hex.EncodeToString(h.Sum(nil)), true
}

// firstLine is what follows #! in the first line of a file that begins so.
func firstLine(p string) (string, bool) {
	f, _, err := regular(p)
	if err != nil {
		return "", false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil || len(b) < 2 || b[0] != '#' || b[1] != '!' {
		return "", false
	}
	line, _, _ := strings.Cut(string(b[2:]), "\n")
	return strings.TrimSpace(line), true
}
