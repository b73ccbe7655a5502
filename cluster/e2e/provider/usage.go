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

// Fields of /proc/<pid>/stat behind the name of the program, which is in brackets. See proc_pid_stat(5), where the state is field 3.
const (
	fieldUserTime   = 14 - 3
	fieldSystemTime = 15 - 3
)

// CPU returns the processor time the provider has used.
func (p *Process) CPU() (time.Duration, error) {
	b, err := os.ReadFile(p.proc("stat"))
	if err != nil {
		return 0, errors.Wrap(err, "cannot read CPU time of provider")
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) <= fieldSystemTime {
		return 0, errors.Errorf("cannot read CPU time of provider from %q", b)
	}
	var ticks int64
	for _, i := range []int{fieldUserTime, fieldSystemTime} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, errors.Wrap(err, "cannot read CPU time of provider")
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// RSS returns how many bytes of memory the provider holds.
func (p *Process) RSS() (int64, error) { return p.memory("VmRSS") }

// PeakRSS returns the most that RSS has been.
func (p *Process) PeakRSS() (int64, error) { return p.memory("VmHWM") }

// memory returns a field of /proc/<pid>/status, in bytes.
func (p *Process) memory(field string) (int64, error) {
	b, err := os.ReadFile(p.proc("status"))
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

func (p *Process) proc(file string) string {
	return fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, file)
}
