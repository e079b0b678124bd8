package peer

import "golang.org/x/sys/unix"

func of(fd int) (Cred, error) {
	u, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Cred{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return Cred{UID: int(u.Uid), PID: pid}, err
}
