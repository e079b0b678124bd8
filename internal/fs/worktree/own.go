package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"waggle/internal/fs/realpath"
	"waggle/spawn"
)

// A tree with a Mirror is a checkout with a git directory of its own, Path/.git, for a member whose
// commands are confined: nothing of the repository's git directory is writable to them. Its objects
// come from the repository by alternates, read-only. The member can write all of it, so this package
// never runs git with that git directory or its configuration after it was made. The mirror, a bare
// repository in Records that no member reaches, holds checked copies of the member's objects and of
// where its branches are (collect), and git is run with the mirror and the files of the checkout.

// own reports whether a checkout has its own git directory.
func (t Tree) own() bool { return t.Mirror != "" }

// gitDir is the checkout's own git directory.
func (t Tree) gitDir() string { return filepath.Join(t.Path, ".git") }

// hardened are options of every call that reads what a member has written: no program that any
// configuration names is started.
var hardened = []string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.attributesFile=" + os.DevNull, "-c", "core.pager=cat",
	"-c", "core.sshCommand=false", "-c", "core.askPass=", "-c", "credential.helper=", "-c", "protocol.allow=never", "-c", "protocol.file.allow=always",
	"-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "log.showSignature=false"}

// alone is an environment without the user's and the system's configuration, in which git keeps references in
// the files that refs reads.
var alone = []string{"GIT_DEFAULT_REF_FORMAT=files", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat"}

// private is g for the mirror of a tree, with the files of its checkout.
func (g Git) private(t Tree) Git {
	g.gitDir, g.mirror, g.workTree, g.options = t.Mirror, true, t.Path, hardened
	g.extra = append(slices.Clone(alone), "GIT_INDEX_FILE="+filepath.Join(t.Mirror, "index"))
	return g
}

// bare is g for the mirror alone.
func (g Git) bare(t Tree) Git {
	g = g.private(t)
	g.workTree = ""
	return g
}

// identity is who commits in the repository, also where the person's own configuration says so: a sandbox may not have
// that file, and one that it includes for directories (includeIf) is not for the checkout's.
var identity = []string{"user.name", "user.email"}

// kept are the settings of the repository that its checkouts need: how files are written, compared and merged,
// filters.
var kept = []string{"core.autocrlf", "core.eol", "core.safecrlf", "core.ignorecase", "core.precomposeunicode",
	"core.symlinks", "core.filemode", "core.longpaths", "filter.", "lfs.", "diff.", "merge.", "submodule."}

// confinedSettings are for commands that have neither the person's keys nor a writable configuration: nothing is
// signed, a branch that is made of another one is made without a line about that, and a push needs none, so that prePush
// answers it.
var confinedSettings = [][2]string{{"gc.auto", "0"}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"}, {"branch.autoSetupMerge", "false"}, {"push.default", "current"}}

// prePush is the hook that says why a push into the repository is refused, where git would say "unpacker error". A
// person, who can write there, pushes.
const prePush = `#!/bin/sh
# Written by waggle.
[ "$1" = origin ] || exit 0
try=$(mktemp "$2/objects/tmp_push_XXXXXX" 2>/dev/null) && rm -f "$try" && exit 0
cat >&2 <<END
waggle: a confined member cannot push: $2 is read-only to it.
What is committed on the branch that this checkout was made for comes there by itself, within a second.
Commit, and say what is to be pushed: the person pushes it from there.
END
exit 1
`

// addOwn makes the mirror, the checkout with its own git directory, and the branch in the
// repository. Its directory exists and is empty.
func (s Store) addOwn(ctx context.Context, t Tree, at string) error {
	format, err := s.Git.of(t.Common).line(ctx, t.Common, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	if err := s.Git.of(t.Common).complete(ctx, t); err != nil {
		return err
	}
	if err := s.makeMirror(ctx, t, format); err != nil {
		return err
	}
	if _, err := s.Git.bare(t).run(ctx, t.Mirror, "update-ref", lastFetched, at); err != nil {
		return err
	}
	s.at("mirror")
	g := s.Git
	g.options, g.extra = hardened, alone
	if _, err := g.run(ctx, t.Path, "init", "--quiet", "--template=", "--object-format="+format, "--initial-branch="+t.Branch); err != nil {
		return err
	}
	if err := s.lend(t.gitDir(), t.Common); err != nil {
		return err
	}
	if err := s.configure(ctx, t); err != nil {
		return err
	}
	hooks := filepath.Join(t.gitDir(), "hooks") // a sandbox protects only what is there
	err = os.MkdirAll(hooks, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(hooks, "pre-push"), []byte(prePush), 0o700)
	}
	if err == nil { // git takes configuration and hooks from the directory that this file names, the same one here
		err = os.WriteFile(filepath.Join(t.gitDir(), "commondir"), []byte(".\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	if err := s.Git.ignore(ctx, t.Common, t.gitDir()); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"update-ref", refOf(t.Branch), at},
		{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", t.Common, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"},
		{"pack-refs", "--all"},
	} {
		if _, err := g.run(ctx, t.Path, args...); err != nil {
			return err
		}
	}
	// The repository's own filters run, as for any checkout of it.
	if err := s.Git.quiet().act(ctx, t.Path, "reset", "--quiet", "--hard"); err != nil {
		return err
	}
	s.at("checkout")
	return s.submodulesOf(ctx, g, t)
}

// complete reports by its error that the repository is a partial clone that lacks objects. Git fetches one where it is
// missed, which a checkout without the repository's remotes cannot.
func (g Git) complete(ctx context.Context, t Tree) error {
	const promises = `^(extensions\.partialclone|remote\..*\.(promisor|partialclonefilter))$`
	if _, err := g.run(ctx, t.Common, "config", "--get-regexp", promises); exit(err) == 1 {
		return nil
	} else if err != nil {
		return err
	}
	missing, _, err := g.bounded(ctx, t.Common, slow, 1, "rev-list", "--objects", "--all", "--quiet", "--missing=print")
	if err == nil && missing != "" {
		err = fmt.Errorf("worktree: %s is a partial clone: the objects that it lacks cannot be lent to a confined member; fetch them all there with git fetch --refetch --no-filter", t.Repo)
	}
	return err
}

// submodulesOf writes where a checkout's submodules come from, as git submodule init does, which cannot write
// the configuration later: the repository's own settings, else what .gitmodules says beside its remote.
func (s Store) submodulesOf(ctx context.Context, g Git, t Tree) error {
	if info, err := os.Lstat(filepath.Join(t.Path, ".gitmodules")); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if url, err := s.Git.of(t.Common).line(ctx, t.Common, "config", "--local", "--get", "remote.origin.url"); err == nil {
		g.options = append(slices.Clone(g.options), "-c", "remote.origin.url="+url)
	}
	err := g.act(ctx, t.Path, "submodule", "--quiet", "init")
	if exit(err) > 0 {
		return nil // git says so again to who updates one
	}
	return err
}

// makeMirror makes the bare repository by which a tree is read, without anything of the member's.
func (s Store) makeMirror(ctx context.Context, t Tree, format string) error {
	if err := os.RemoveAll(t.Mirror); err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	g := s.Git
	g.options, g.extra = hardened, alone
	if _, err := g.run(ctx, s.Records, "init", "--quiet", "--bare", "--template=", "--object-format="+format, "--initial-branch="+t.Branch, "--", t.Mirror); err != nil {
		return err
	}
	return s.lend(t.Mirror, t.Common)
}

// lend lets a git directory use the repository's objects.
func (s Store) lend(gitDir, common string) error {
	info, objects := filepath.Join(gitDir, "objects", "info"), filepath.Join(common, "objects")
	if strings.ContainsAny(objects, "\n\"") {
		return fmt.Errorf("worktree: %q cannot be named to git as a place of objects", objects)
	}
	err := os.MkdirAll(info, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(info, "alternates"), []byte(objects+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	shallow, err := os.ReadFile(filepath.Join(common, "shallow"))
	if err == nil {
		err = os.WriteFile(filepath.Join(gitDir, "shallow"), shallow, 0o600)
	}
	return wrapped(ignoreMissing(err))
}

// configure writes the settings of the checkout's own git directory: those of the repository that
// its checkouts need, and the repository as origin.
func (s Store) configure(ctx context.Context, t Tree) error {
	out, err := s.Git.of(t.Common).run(ctx, t.Common, "config", "--local", "--null", "--list")
	if err != nil {
		return err
	}
	sets := append(slices.Clone(confinedSettings), [][2]string{{"remote.origin.url", t.Common}, {"remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"}}...)
	for _, f := range fields(out) {
		key, value, has := strings.Cut(f, "\n")
		if has && slices.ContainsFunc(kept, func(k string) bool { return key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k) }) {
			sets = append(sets, [2]string{key, value})
		}
	}
	for _, key := range identity {
		if value, err := s.Git.of(t.Common).line(ctx, t.Common, "config", "--get", key); err == nil && value != "" {
			sets = append(sets, [2]string{key, value})
		}
	}
	f, err := os.OpenFile(filepath.Join(t.gitDir(), "config"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	_, err = io.WriteString(f, settings(sets))
	return wrapped(noSpace(errors.Join(err, f.Close())))
}

// settings are lines of a configuration file of git; of two with the same key the last holds.
func settings(sets [][2]string) string {
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	for i, set := range sets {
		if slices.ContainsFunc(sets[i+1:], func(later [2]string) bool { return later[0] == set[0] }) {
			continue
		}
		section, name, _ := strings.Cut(set[0], ".")
		if dot := strings.LastIndex(name, "."); dot >= 0 {
			section, name = section+` "`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name[:dot])+`"`, name[dot+1:]
		}
		fmt.Fprintf(&b, "[%s]\n\t%s = \"%s\"\n", section, name, escape.Replace(set[1]))
	}
	return b.String()
}

// undoOwn removes the files of an unfinished checkout. The mirror is made after the directory, so where there is
// one the directory is ours.
func undoOwn(t Tree) error {
	if _, err := os.Lstat(t.Mirror); err == nil {
		if err := os.RemoveAll(t.Path); err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
	}
	return wrapped(os.RemoveAll(t.Mirror))
}

// sameOwn reports by its error that a checkout's directory is not what was recorded. It runs nothing.
func sameOwn(t Tree) error {
	for _, dir := range []string{t.Path, t.gitDir(), t.Mirror} {
		info, err := os.Lstat(dir)
		if err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
		if !info.IsDir() {
			return &MismatchError{What: "git directory", Got: dir + " is no directory"}
		}
	}
	return nil
}

// effectiveOwn is where a process works that runs in dir, read from the files: git there would
// follow settings that the member can write.
func effectiveOwn(dir string, t Tree) (Effective, error) {
	e := Effective{Top: real(t.Path), Common: real(t.Common)}
	if err := sameOwn(t); err != nil {
		return e, err
	}
	at := real(dir)
	if !realpath.Within(e.Top, at) {
		return e, &MismatchError{"top level", at, e.Top}
	}
	// Any .git is refused, also one without a HEAD: the member can complete it at any time.
	for ; at != e.Top; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return e, &MismatchError{What: "checkout", Got: at + " is a repository of its own"}
		}
	}
	r, err := openRefs(t.gitDir())
	if err != nil {
		return e, err
	}
	defer r.close()
	_, e.Branch, err = r.head()
	return e, err
}

// dropOwn removes a checkout that was found clean. It is renamed first, so that a removal which is
// interrupted leaves no half checkout at its place.
func (s Store) dropOwn(t Tree) error {
	aside := filepath.Join(filepath.Dir(t.Path), ".removing-"+filepath.Base(t.Path))
	if _, err := os.Lstat(t.Path); err == nil {
		if err := errors.Join(os.RemoveAll(aside), os.Rename(t.Path, aside)); err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
	}
	return wrapped(errors.Join(os.RemoveAll(aside), os.RemoveAll(t.Mirror)))
}

// ignores is what the repository's checkouts ignore by no file of their own: by the person's file of
// patterns (core.excludesFile), and by the repository's info/exclude, which comes later and wins.
func (g Git) ignores(ctx context.Context, common string) (string, error) {
	usual := "~/.config/git/ignore"
	if dir := spawn.Getenv(g.Environ, "XDG_CONFIG_HOME"); dir != "" {
		usual = filepath.Join(dir, "git", "ignore")
	}
	person := Git{Program: g.Program, Environ: g.Environ, Limit: g.Limit} // with the person's configuration
	persons, err := person.of(common).line(ctx, common, "config", "--type=path", "--default", usual, "--get", "core.excludesFile")
	if err != nil && exit(err) < 0 {
		return "", err // else there is no home directory
	}
	var all strings.Builder
	for _, path := range []string{persons, filepath.Join(common, "info", "exclude")} {
		b, err := os.ReadFile(path)
		switch {
		case path == "" || errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		case err != nil:
			return "", fmt.Errorf("worktree: what git ignores: %w", err)
		default:
			all.Write(b)
			all.WriteString("\n")
		}
	}
	return all.String(), nil
}

// ignore makes a git directory ignore what the repository's checkouts ignore.
func (g Git) ignore(ctx context.Context, common, gitDir string) error {
	text, err := g.ignores(ctx, common)
	if err == nil {
		err = os.MkdirAll(filepath.Join(gitDir, "info"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(gitDir, "info", "exclude"), []byte(text), 0o600)
	}
	return wrapped(err)
}
