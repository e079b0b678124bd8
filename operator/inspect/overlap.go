package inspect

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"waggle/control"
	"waggle/internal/fs/realpath"
	"waggle/internal/fs/worktree"
	"waggle/internal/json/jsontext"
	"waggle/leader"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
)

// Overlap is a file that more than one running member of a team edited: in worktrees of one
// repository, or in one checkout, as far as their tool calls name the file.
type Overlap struct {
	File    string   `json:"file"`    // below Repo; absolute when there is none
	Repo    string   `json:"repo"`    // the checkout that worktrees were made from; "" when none was
	Members []string `json:"members"` // sorted
}

const (
	// editsMost is how many files of one member are compared.
	editsMost = 5000

	// overlapsMost is how many overlaps are reported at a time.
	overlapsMost = 200

	// overlapsNoted is how many overlaps of one search are named in notes.
	overlapsNoted = 10

	// editsLimit is the time limit of one call of git.
	editsLimit = 2 * time.Second

	// gits is how many calls of git run at once.
	gits = 4
)

// edits are the files that a member has written, according to its journal.
type edits struct {
	name  protocol.MemberName
	tree  *record.Worktree
	files []string // absolute paths of its tool calls
}

// written lists the files of a member's tool calls, the newest first. w may be nil.
func written(w *control.Worker) (files []string) {
	if w == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range slices.Backward(w.Calls) {
		if f := edited(c); f != "" && !seen[f] && len(files) < editsMost {
			seen[f] = true
			files = append(files, f)
		}
	}
	return files
}

// edited returns the file that a started call of a file tool writes to, "" for any other call.
func edited(c *control.Call) string {
	if !c.Started || !slices.Contains([]string{"Edit", "Write", "MultiEdit", "NotebookEdit"}, c.Ask.Tool) {
		return ""
	}
	path := cmp.Or(jsontext.TextAt(c.Input(), "file_path"), jsontext.TextAt(c.Input(), "notebook_path"))
	switch {
	case path == "":
		return ""
	case !filepath.IsAbs(path):
		path = filepath.Join(c.Ask.Cwd, path)
	}
	// The file may be gone; links are followed as far as its directory.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return filepath.Clean(path)
}

// overlaps finds the files that more than one running member edited. It calls git once for each
// worktree (worktree.Git.Changed), all at the same time and with a limit; for a worktree without a
// result in time only the tool calls count.
func (o Operator) overlaps(ctx context.Context, es []edits) []Overlap {
	repos := map[string]string{} // by the git directory, the checkout
	for _, e := range es {
		if e.tree != nil {
			repos[e.tree.Common] = e.tree.Repo
		}
	}
	by := map[string][]string{}
	for i, files := range o.inWorktrees(ctx, es) {
		e := es[i]
		for _, f := range files {
			by[string(e.name)] = append(by[string(e.name)], e.tree.Common+"\x00"+filepath.FromSlash(f))
		}
		for _, f := range e.files {
			by[string(e.name)] = append(by[string(e.name)], keyOf(es, f))
		}
	}
	found := []Overlap{}
	for _, v := range worktree.Overlaps(by) {
		common, file, _ := strings.Cut(v.File, "\x00")
		found = append(found, Overlap{File: strings.ToValidUTF8(file, "\uFFFD"), Repo: repos[common], Members: v.Members})
	}
	slices.SortStableFunc(found, func(a, b Overlap) int {
		return cmp.Or(strings.Compare(a.Repo, b.Repo), strings.Compare(a.File, b.File))
	})
	return found[:min(len(found), overlapsMost)]
}

// keyOf returns what a file is compared by: its repository and its path below the checkout.
func keyOf(es []edits, file string) string {
	for _, e := range es {
		if e.tree == nil {
			continue
		}
		for _, top := range []string{e.tree.Path, e.tree.Repo} {
			if rel, ok := realpath.Below(top, file); ok {
				return e.tree.Common + "\x00" + rel
			}
		}
	}
	return "\x00" + file
}

// inWorktrees returns the files of each worktree that differ from its base, by git, in the order of
// es.
func (o Operator) inWorktrees(ctx context.Context, es []edits) [][]string {
	files := make([][]string, len(es))
	g, err := worktree.Find(o.Environ)
	if err != nil {
		return files
	}
	g.Limit = editsLimit
	var wg sync.WaitGroup
	defer wg.Wait()
	turn := make(chan struct{}, gits)
	for i, e := range es {
		if e.tree == nil {
			continue
		}
		tree := worktree.Tree(*e.tree)
		if known, ok := o.Edits.Get(*e.tree, o.Minter.Now()); ok {
			files[i] = known
			continue
		}
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			fs, _, err := g.Changed(ctx, tree, editsMost)
			if err != nil {
				if o.Log != nil && ctx.Err() == nil {
					o.Log.Warn("it is not known what a member has edited", "member", e.name, "err", err)
				}
				return
			}
			files[i] = fs
			o.Edits.Put(*e.tree, fs, o.Minter.Now())
		})
	}
	return files
}

// Watcher reports overlaps while a run goes on, each once.
type Watcher struct {
	o     Operator
	Found chan []Overlap // the result of the running search; nil: none runs
	next  time.Time
	every time.Duration
	noted map[string]bool
	All   []Overlap // the reported overlaps
	stop  context.CancelFunc
}

// lookEvery is the default of RunOptions.Look.
const lookEvery = 5 * time.Second

// NewWatcher returns a Watcher that runs git for each search.
func NewWatcher(o Operator, every time.Duration) Watcher {
	o.Edits = nil
	return Watcher{o: o, every: cmp.Or(every, lookEvery)}
}

// Check starts a search for overlaps when the interval has passed. The result comes on Found,
// and the caller passes it to Take.
func (k *Watcher) Check(ctx context.Context, l *leader.Leader) {
	now := k.o.Minter.Now()
	if k.Found != nil || now.Before(k.next) {
		return
	}
	es := liveEdits(l)
	if !slices.ContainsFunc(es, func(e edits) bool { return e.tree != nil || len(e.files) > 0 }) {
		return
	}
	k.next = now.Add(k.every)
	found := make(chan []Overlap, 1)
	ctx, k.stop = context.WithCancel(ctx)
	k.Found = found
	go func() { found <- k.o.overlaps(ctx, es) }()
}

// liveEdits reads the journals of a leader's members.
func liveEdits(l *leader.Leader) []edits {
	var es []edits
	var is []record.Instance
	l.View(func(lead *control.Leader) {
		for _, m := range lead.Live() {
			es, is = append(es, edits{name: m.Name, tree: m.Worktree}), append(is, m.Instance)
		}
	})
	for n, i := range is {
		l.ViewMember(i, func(w *control.Worker) { es[n].files = written(w) })
	}
	return es
}

// Take notes the new overlaps of a search, and ends the search.
func (k *Watcher) Take(found []Overlap, note func(operator.Note)) {
	if k.stop != nil {
		k.stop()
	}
	k.Found, k.stop = nil, nil
	fresh := 0
	for _, v := range found {
		key := v.Repo + "\x00" + v.File + "\x00" + strings.Join(v.Members, "\x00")
		if k.noted[key] {
			continue
		}
		if k.noted == nil {
			k.noted = map[string]bool{}
		}
		k.noted[key] = true
		k.All = append(k.All, v)
		if fresh++; fresh <= overlapsNoted {
			note(operator.Note{What: operator.NoteOverlap, Member: strings.Join(v.Members, ", "), Text: v.File})
		}
	}
	if n := fresh - overlapsNoted; n > 0 {
		note(operator.Note{What: operator.NoteOverlap, Member: "several members", Text: fmt.Sprintf("%d more files", n), Next: operator.NextStatusNames.With()})
	}
}

// Last makes one more search, while the members exist, and waits for it.
func (k *Watcher) Last(ctx context.Context, l *leader.Leader, note func(operator.Note)) {
	k.Close()
	k.Take(k.o.overlaps(ctx, liveEdits(l)), note)
}

// Close ends a running search.
func (k *Watcher) Close() {
	if k.Found == nil {
		return
	}
	k.stop()
	<-k.Found
	k.Found, k.stop = nil, nil
}
