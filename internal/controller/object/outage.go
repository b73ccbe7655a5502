package object

import (
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// suppressed returns the error of a pass, or a silent one if the target has been unreachable for less than 10 s.
func (p *pass) suppressed(err error) error {
	last, ok := p.quiet.Last().(Object)
	if !ok {
		return err
	}
	return targetresource.SuppressBriefOutage(err, last)
}

// keepConditions restores the conditions from before the pass. crossplane-runtime does not requeue every conflict
// silently.
func (p *pass) keepConditions(o Object) {
	last, ok := p.quiet.Last().(Object)
	if !ok {
		return
	}
	kept := []xpv2.ConditionType{xpv2.TypeSynced}
	if !meta.WasDeleted(o) {
		kept = append(kept, xpv2.TypeReady)
	}
	for _, t := range kept {
		was := last.GetCondition(t)
		if was.Reason == "" {
			o.RemoveCondition(t)
			continue
		}
		o.SetConditions(was)
	}
}

// An outageRecorder drops events about unreachable targets on Objects that have been synced before. The ProviderConfig
// has one event for all of them.
type outageRecorder struct{ next event.Recorder }

// Event records an event.
func (r outageRecorder) Event(obj runtime.Object, e event.Event) {
	o, ok := obj.(resource.Conditioned)
	if ok && e.Type == event.TypeWarning && targetresource.WasSynced(o) &&
		strings.Contains(e.Message, target.ErrUnreachable.Error()) {
		return
	}
	r.next.Event(obj, e)
}

// WithAnnotations returns a recorder that adds annotations to each event.
func (r outageRecorder) WithAnnotations(keysAndValues ...string) event.Recorder {
	return outageRecorder{next: r.next.WithAnnotations(keysAndValues...)}
}
