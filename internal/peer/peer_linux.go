package peer

import "golang.org/x/sys/unix"

func of(fd int) (Cred, error) {
	u, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Cred{}, err
	}
	return Cred{UID: int(u.Uid), PID: int(u.Pid)}, nil
}
