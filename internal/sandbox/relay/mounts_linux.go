package relay

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// checkMounts returns an error when a mount is not where it was meant to be, or not what it was meant
// to be: another command of the member has put something else there while bubblewrap made the mounts,
// which follows links. Each mount is looked at by a descriptor, and none stands for two.
func checkMounts(list []Mounted) error {
	var seen []uint64
	for _, want := range list {
		got, mount, err := lookAt(want)
		if err != nil {
			return fmt.Errorf("%s: %w", want.Path, err)
		}
		if !want.Mask && got != want.ID || mount != 0 && slices.Contains(seen, mount) {
			return fmt.Errorf("%s is another file than a moment ago: another command changes it; try again", want.Path)
		}
		seen = append(seen, mount)
	}
	return nil
}

// lookAt returns the file of a mount, and the number of the mount, which kernels before 5.8 do not say.
func lookAt(want Mounted) (ID, uint64, error) {
	fd, err := openPlain(want.Path)
	if err != nil {
		return ID{}, 0, err
	}
	defer unix.Close(fd)
	id, err := idOf(fd)
	if err != nil {
		return ID{}, 0, err
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return ID{}, 0, err
	}
	if want.ReadOnly && fs.Flags&unix.ST_RDONLY == 0 {
		return ID{}, 0, unix.EROFS
	}
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil || st.Mask&unix.STATX_MNT_ID == 0 {
		return id, 0, nil
	}
	return id, st.Mnt_id, nil
}

// IDOf returns which file is at a path without links.
func IDOf(path string) (ID, error) {
	fd, err := openPlain(path)
	if err != nil {
		return ID{}, fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(fd)
	id, err := idOf(fd)
	if err != nil {
		return ID{}, fmt.Errorf("%s: %w", path, err)
	}
	return id, nil
}

func idOf(fd int) (ID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return ID{}, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return ID{}, unix.ELOOP
	}
	return ID{Dev: uint64(st.Dev), Ino: st.Ino}, nil
}

// openPlain opens the file at an absolute path, and follows no link on the way. The last component may
// be one.
func openPlain(path string) (int, error) {
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open("/", flags, 0)
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if err != nil {
			return -1, err
		}
		if name == "" {
			continue // the root itself
		}
		var next int
		next, err = unix.Openat(fd, name, flags, 0)
		unix.Close(fd)
		fd = next
	}
	return fd, err
}
