package managedadapter

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reasons crossplane-runtime gives to events that report a state rather than a change.
const (
	reasonDeleted event.Reason = "DeletedExternalResource"
	reasonPaused  event.Reason = "ReconciliationPaused"
)

// MessageMissing is what crossplane-runtime's event says, at each pass, of a resource that is missing and that policies
// allow only to observe. A condition of that has to end with it, or the event would be recorded each time.
const MessageMissing = "external resource does not exist"

const (
	// routineRate is how many routine events a limited Recorder records each second, and routineBurst how many at once.
	routineRate  = 5
	routineBurst = 50
)

// A Recorder drops events that say what the conditions of the object, as they were before this reconcile, say already.
type Recorder struct {
	next event.Recorder
	// Nil if the Recorder is not limited.
	routine *rate.Limiter
	drop    func(runtime.Object, event.Event) bool
}

// NewRecorder returns a Recorder that hands on to another.
func NewRecorder(next event.Recorder) Recorder { return Recorder{next: next} }

// Limited returns a Recorder that drops routine events beyond a rate, for kinds whose objects are made by thousands at
// a time, and events that a function asks it to drop.
func (r Recorder) Limited(drop func(runtime.Object, event.Event) bool) Recorder {
	return Recorder{next: r.next, routine: rate.NewLimiter(routineRate, routineBurst), drop: drop}
}

// Event records an event about something new.
func (r Recorder) Event(obj runtime.Object, e event.Event) {
	e.Message = Clip(e.Message, textMost)
	if c, ok := obj.(resource.Conditioned); ok && known(c, e) {
		return
	}
	if r.routine != nil && (r.drop(obj, e) || isRoutine(e) && !r.routine.Allow()) {
		return
	}
	r.next.Event(obj, e)
}

// isRoutine reports whether crossplane-runtime says with an event that it has created, updated or deleted a resource.
// What other events tell stands nowhere else.
func isRoutine(e event.Event) bool {
	return e.Type == event.TypeNormal && strings.HasSuffix(string(e.Reason), "ExternalResource")
}

// WithAnnotations returns a Recorder that adds annotations to each event.
func (r Recorder) WithAnnotations(keysAndValues ...string) event.Recorder {
	r.next = r.next.WithAnnotations(keysAndValues...)
	return r
}

func known(c resource.Conditioned, e event.Event) bool {
	synced := c.GetCondition(xpv2.TypeSynced)
	if e.Type == event.TypeWarning {
		return synced.Status == corev1.ConditionFalse && says(synced.Message, e.Message)
	}
	switch e.Reason {
	case reasonDeleted:
		return c.GetCondition(xpv2.TypeReady).Reason == xpv2.ReasonDeleting && synced.Status == corev1.ConditionTrue
	case reasonPaused:
		return synced.Reason == xpv2.ReasonReconcilePaused
	}
	return false
}

const (
	// textMost is how long the message of a condition or an event may be, in bytes. Targets send what they like.
	textMost = 4096
	// knownFrom is how much of a long message tells it from others, in bytes.
	knownFrom = 1024
)

// volatile is what differs in texts of one meaning: each attempt has its own.
var volatile = []*regexp.Regexp{
	// Times: 2026-01-02T03:04:05Z, 2026-01-02 03:04:05.678 +0000 UTC, 20260102T030405Z and Fri, 02 Jan 2026 03:04:05
	// GMT.
	regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?( ?(Z|UTC|GMT|[+-]\d\d:?\d\d))*( m=[+-][\d.]+)?`),
	regexp.MustCompile(`\d{8}T\d{6}Z`),
	regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d [A-Z]{3}`),
	// Our own end of a connection: 10.0.0.1:43210->10.0.0.2:443.
	regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:.%a-z]+\]):\d+->`),
	// Pointers.
	regexp.MustCompile(`0x[0-9a-fA-F]{6,}`),
	// Identifiers of one request, stream or trace.
	regexp.MustCompile(`(?i)\b(request|req|trace|correlation|span|audit|ray|stream|operation|activity)` +
		`[-_ ]?id\b["']?\s*[:=]?\s*["']?[\w.-]+`),
	regexp.MustCompile(`(?i)\bLastStreamID=\d+`),
	// Durations that are measured, or that are left.
	regexp.MustCompile(`\b\d+\.\d+(ns|µs|us|ms|s)\b`),
	regexp.MustCompile(`(?i)\b(after|in|took|elapsed|waited|retry-after)[: ]+` +
		`\d+(\.\d+)? ?(ns|µs|us|ms|s|secs?|seconds?)\b`),
	// Versions of resources.
	regexp.MustCompile(`(?i)\bresource ?version( in [a-z ]+)?[:="' ]+\d+( \(\d+\))?`),
}

// SameText reports whether two texts say the same: they differ by no more than by what differs in each attempt, such as
// the current time.
func SameText(a, b string) bool { return a == b || stable(a) == stable(b) }

func stable(text string) string {
	for _, v := range volatile {
		text = v.ReplaceAllString(text, "~")
	}
	return text
}

// Clip returns the beginning of a text that is longer than so many bytes.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Some returns the first of a list of texts, at most so many, and how many there are beside.
func Some(all []string, most int, separator string) string {
	if len(all) <= most {
		return strings.Join(all, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], separator), len(all)-most)
}

// says reports whether the message of a condition ends with what an event says.
func says(condition, event string) bool {
	condition, event = stable(condition), stable(event)
	if len(event) > knownFrom {
		return strings.Contains(condition, event[:knownFrom])
	}
	return strings.HasSuffix(condition, event)
}

// keepSame gives the conditions of an object that say what they have said before their former words and time back, so
// that a text which differs in each attempt is not written again and again. It keeps the first text: what is current in
// it is so for a second.
func keepSame(before, now client.Object) {
	had, has := conditions(before), conditions(now)
	for i := range has {
		has[i].Message = Clip(has[i].Message, textMost)
		for _, was := range had {
			is := has[i]
			if is.Message = was.Message; was.Equal(is) && SameText(was.Message, has[i].Message) {
				was.ObservedGeneration = has[i].ObservedGeneration
				has[i] = was
			}
		}
	}
}

// conditions returns the conditions of an object, which share their memory with it, if its kind has such.
func conditions(obj client.Object) []xpv2.Condition {
	if obj == nil {
		return nil
	}
	s := reflect.ValueOf(obj).Elem().FieldByName("Status")
	if s.Kind() != reflect.Struct || !s.FieldByName("Conditions").IsValid() {
		return nil
	}
	c, _ := s.FieldByName("Conditions").Interface().([]xpv2.Condition)
	return c
}
