package provider

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// ticksPerSecond is the unit of CPU times in /proc: 100 on every Linux, whatever the kernel's own clock.
const ticksPerSecond = 100

// Fields of /proc/<pid>/stat behind the name of the program, which is in brackets. See proc_pid_stat(5), where the
// state is field 3.
const (
	fieldParent     = 4 - 3
	fieldUserTime   = 14 - 3
	fieldSystemTime = 15 - 3
)

// CPU returns the processor time the provider has used.
func (p *Process) CPU() (time.Duration, error) {
	s, err := readStat(p.cmd.Process.Pid)
	return s.cpu, err
}

// FamilyCPU returns the processor time that this program and its children, a provider among them, have used so far, by
// the name of the program. What a child has used is left out once the child is gone.
func FamilyCPU() (map[string]time.Duration, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, errors.Wrap(err, "cannot list processes")
	}
	used := map[string]time.Duration{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // Not a process.
		}
		s, err := readStat(pid)
		if err != nil {
			continue // It has ended since.
		}
		if pid == os.Getpid() || s.parent == os.Getpid() {
			used[s.name] += s.cpu
		}
	}
	return used, nil
}

// A stat is what /proc tells about a process.
type stat struct {
	name   string // of the program, the first 15 bytes
	parent int
	cpu    time.Duration
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, errors.Wrap(err, "cannot read CPU time of process")
	}
	head, rest, _ := strings.Cut(string(b), ") ")
	_, name, _ := strings.Cut(head, "(")
	fields := strings.Fields(rest)
	if len(fields) <= fieldSystemTime {
		return stat{}, errors.Errorf("cannot read CPU time of process from %q", b)
	}
	var n [3]int64
	for i, f := range []int{fieldParent, fieldUserTime, fieldSystemTime} {
		if n[i], err = strconv.ParseInt(fields[f], 10, 64); err != nil {
			return stat{}, errors.Wrap(err, "cannot read CPU time of process")
		}
	}
	return stat{name: name, parent: int(n[0]), cpu: time.Duration(n[1]+n[2]) * time.Second / ticksPerSecond}, nil
}

// RSS returns how many bytes of memory the provider holds.
func (p *Process) RSS() (int64, error) { return p.memory("VmRSS") }

// PeakRSS returns the most that RSS has been.
func (p *Process) PeakRSS() (int64, error) { return p.memory("VmHWM") }

// memory returns a field of /proc/<pid>/status, in bytes.
func (p *Process) memory(field string) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, errors.Wrap(err, "cannot read memory of provider")
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			return kb << 10, errors.Wrapf(err, "cannot read %s of provider", field)
		}
	}
	return 0, errors.Errorf("cannot find %s of provider", field)
}
