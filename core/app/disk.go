package app

import (
	"fmt"
	"syscall"
)

// DiskOf returns the space of the file system that a folder is on, as a process
// of this user may use it.
func DiskOf(folder string) (Disk, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return Disk{}, fmt.Errorf("look at the disk of %s: %w", folder, err)
	}
	block := uint64(s.Bsize) //nolint:gosec,unconvert,nolintlint // its type differs between systems; a block size is not negative
	return Disk{Free: s.Bavail * block, Total: s.Blocks * block}, nil
}
