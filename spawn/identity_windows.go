package spawn

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"
)

// readBootID returns "": creation times on Windows are absolute.
func readBootID() string { return "" }

func readStat(pid int) (stat, error) {
	if pid <= 0 {
		return stat{}, ErrGone
	}
	const access = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.SYNCHRONIZE
	h, err := windows.OpenProcess(access, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return stat{}, ErrGone
	}
	if err != nil {
		return stat{}, err
	}
	defer windows.CloseHandle(h)
	return handleStat(h, pid)
}

func handleStat(h windows.Handle, pid int) (stat, error) {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return stat{}, err
	}
	var info windows.PROCESS_BASIC_INFORMATION
	err := windows.NtQueryInformationProcess(h, windows.ProcessBasicInformation,
		unsafe.Pointer(&info), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return stat{}, err
	}
	event, err := windows.WaitForSingleObject(h, 0)
	if err != nil {
		return stat{}, err
	}
	return stat{
		pid:    pid,
		ppid:   int(info.InheritedFromUniqueProcessId),
		pgid:   pid,
		start:  uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime),
		zombie: event == windows.WAIT_OBJECT_0, // ended, kept by an open handle
	}, nil
}

// allStats reads the process table, as far as this user may see it.
func allStats() ([]stat, error) {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(snap)
	var all []stat
	e := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snap, &e); err == nil; err = windows.Process32Next(snap, &e) {
		if s, err := readStat(int(e.ProcessID)); err == nil {
			all = append(all, s)
		}
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return nil, err
	}
	return all, nil
}
