package team

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// Check lists permissions of a team's files that let other users change them: directories and files
// of the root and the team that a group or anybody may write, that another user owns, or that are
// symbolic links. A process that can write a mailbox can write messages in the lead's name
// (protocol §2.5). Nil means that none was found. Missing files are no problem. On Windows, where
// permissions are not mode bits, only links are found.
func (r Root) Check(t protocol.TeamName) []string {
	var problems []string
	look := func(path string) bool {
		info, err := os.Lstat(path)
		if err != nil {
			if !os.IsNotExist(err) {
				problems = append(problems, err.Error())
			}
			return false
		}
		problems = append(problems, permissionProblems(path, info)...)
		return info.IsDir()
	}
	if info, err := os.Stat(r.Path); err == nil { // the root itself may be a link: the operator named it
		problems = append(problems, permissionProblems(r.Path, info)...)
	}
	for _, dir := range []string{
		r.teams(), r.TeamDir(t), r.InboxesDir(t), r.MailboxDir(t), filepath.Join(r.TeamDir(t), archiveName), r.tasks(), r.TasksDir(t),
	} {
		if !look(dir) {
			continue
		}
		if dir == r.teams() || dir == r.tasks() {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".json") || strings.HasSuffix(e.Name(), ".jsonl") {
				look(filepath.Join(dir, e.Name()))
			}
		}
	}
	return problems
}

func permissionProblems(path string, info fs.FileInfo) []string {
	if info.Mode().Type() == fs.ModeSymlink {
		return []string{path + " is a symbolic link"}
	}
	var problems []string
	if mode := info.Mode().Perm(); mode&0o022 != 0 && runtime.GOOS != "windows" {
		want := "0600"
		if info.IsDir() {
			want = "0700"
		}
		problems = append(problems, fmt.Sprintf("%s has mode %#o: others can write it; %s is right", path, mode, want))
	}
	if uid, other := atomicfile.ForeignOwner(info); other {
		problems = append(problems, fmt.Sprintf("%s belongs to user %d", path, uid))
	}
	return problems
}

// suffix is a random file name suffix.
func suffix() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
