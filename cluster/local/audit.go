package local

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// auditPolicy logs a watch once, when it starts: when it ends is too late to know that it runs. All else is logged when
// it is received and when it is answered, before the client has the end of the answer. What a request does can be seen
// before it is answered, so a reader of the log waits for the answers to the requests that were received.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: Metadata
  verbs: [watch]
  omitStages: [RequestReceived, ResponseComplete]
- level: Metadata
  omitStages: [ResponseStarted]
`

const (
	stageReceived = "RequestReceived" // https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/

	// answerWait is how long a reader of the log waits for answers. A test may make a server hang.
	answerWait = 2 * time.Second
	answerPoll = 5 * time.Millisecond
)

// forwarder ends the user agent of the virtual workspaces of kcp.
const forwarder = "-virtual-workspace"

// An AuditEvent is one request, as the API server saw it.
type AuditEvent struct {
	User string // as whom it was made, be it by impersonation
	// Of the API, such as get, list, watch, create, update, patch, delete; of HTTP, lower case, without a resource.
	Verb        string
	Group       string // empty for the core group
	Resource    string // empty for requests such as discovery and health checks; see URI
	Subresource string
	Namespace   string
	Name        string // empty for lists, and for creates that leave the name to the server
	Code        int    // HTTP status
	Time        time.Time
	URI         string
	// Forwarded says that a virtual workspace of kcp has made the request, in the name of who has asked it for
	// something: for a patch, it reads and updates.
	Forwarded bool
}

// Subject says what a request is about: <resource>[.<group>][/<subresource>], or the path where there is no resource.
func (e AuditEvent) Subject() string {
	if e.Resource == "" {
		path, _, _ := strings.Cut(e.URI, "?")
		return path
	}
	s := e.Resource
	if e.Group != "" {
		s += "." + e.Group
	}
	if e.Subresource != "" {
		s += "/" + e.Subresource
	}
	return s
}

// ReadAudit returns the answered requests in an audit log, in the order of the answers. A last line that is not
// complete yet is left out. Requests that are being answered are waited for, 2 s at most.
func ReadAudit(path string) ([]AuditEvent, error) {
	events, _, err := ReadAuditFrom(path, 0)
	return events, err
}

// ReadAuditFrom is ReadAudit from a byte offset. It also returns the offset behind the last complete line, to go on
// from. A log that is shorter than the offset is an error: what it had is not known any more.
func ReadAuditFrom(path string, offset int64) ([]AuditEvent, int64, error) {
	var events []AuditEvent
	next, pending := offset, map[string]int{} // A virtual workspace of kcp may forward the ID of a request.
	for begin := time.Now(); ; time.Sleep(answerPoll) {
		b, err := readLines(path, next)
		if err != nil {
			return nil, offset, err
		}
		for line := range bytes.Lines(b) {
			l, err := parseAuditLine(line)
			if err != nil {
				return nil, offset, err
			}
			if l.Stage == stageReceived {
				pending[l.AuditID]++
				continue
			}
			if pending[l.AuditID]--; pending[l.AuditID] <= 0 {
				delete(pending, l.AuditID)
			}
			events = append(events, l.event())
		}
		next += int64(len(b))
		if len(pending) == 0 || time.Since(begin) > answerWait {
			return events, next, nil
		}
	}
}

// readLines returns the complete lines of a log from a byte offset.
func readLines(path string, offset int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // Callers choose the file.
	if err != nil {
		return nil, errors.Wrap(err, "cannot open audit log")
	}
	defer f.Close() //nolint:errcheck // Only read.
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Wrap(err, "cannot seek in audit log")
	}
	if end < offset {
		return nil, errors.Errorf("audit log has %d bytes, fewer than the %d that were read: it was rotated", end, offset)
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Wrap(err, "cannot seek in audit log")
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read audit log")
	}
	return b[:bytes.LastIndexByte(b, '\n')+1], nil
}

// AuditEnd returns the offset behind the last complete line of an audit log, for ReadAuditFrom to start at.
func AuditEnd(path string) (int64, error) {
	f, err := os.Open(path) //nolint:gosec // Callers choose the file.
	if err != nil {
		return 0, errors.Wrap(err, "cannot open audit log")
	}
	defer f.Close() //nolint:errcheck // Only read.
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, errors.Wrap(err, "cannot seek in audit log")
	}
	// Nearly always the last byte ends a line. If not, a line is being written, and its beginning is near.
	for size := int64(1); end > 0; size *= 1 << 10 {
		size = min(size, end)
		b := make([]byte, size)
		if _, err := f.ReadAt(b, end-size); err != nil {
			return 0, errors.Wrap(err, "cannot read audit log")
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			return end - size + int64(i) + 1, nil
		}
		if size == end {
			break
		}
	}
	return 0, nil
}

// auditLine has the few fields of https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/ that AuditEvent
// has.
type auditLine struct {
	AuditID string `json:"auditID"`
	Stage   string `json:"stage"`
	User    struct {
		Username string `json:"username"`
	} `json:"user"`
	ImpersonatedUser struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	Verb                     string    `json:"verb"`
	RequestURI               string    `json:"requestURI"`
	UserAgent                string    `json:"userAgent"`
	RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
	ResponseStatus           struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
}

func parseAuditLine(line []byte) (auditLine, error) {
	var l auditLine
	err := json.Unmarshal(line, &l)
	return l, errors.Wrapf(err, "cannot parse line of audit log %q", line)
}

func (l auditLine) event() AuditEvent {
	user := l.ImpersonatedUser.Username
	if user == "" {
		user = l.User.Username
	}
	return AuditEvent{
		User: user, Verb: l.Verb,
		Group: l.ObjectRef.APIGroup, Resource: l.ObjectRef.Resource, Subresource: l.ObjectRef.Subresource,
		Namespace: l.ObjectRef.Namespace, Name: l.ObjectRef.Name,
		Code: l.ResponseStatus.Code, Time: l.RequestReceivedTimestamp, URI: l.RequestURI,
		Forwarded: strings.HasSuffix(l.UserAgent, forwarder),
	}
}

// auditLogMegabytes is more than any log grows to. Readers keep offsets, so the log must not be rotated, and 0 stands
// for 100 MB (https://pkg.go.dev/gopkg.in/natefinch/lumberjack.v2#Logger).
const auditLogMegabytes = "1000000"

// auditFlags writes the policy to dir and returns the flags of a server that logs to <dir>/audit.log, by name.
func auditFlags(dir string) (map[string]string, error) {
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, errors.Wrap(err, "cannot write audit policy")
	}
	return map[string]string{
		"audit-policy-file": policy,
		"audit-log-path":    auditLog(dir),
		"audit-log-mode":    "blocking",
		"audit-log-maxsize": auditLogMegabytes,
	}, nil
}

func auditLog(dir string) string {
	return filepath.Join(dir, "audit.log")
}
