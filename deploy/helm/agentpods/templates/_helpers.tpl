{{/* What every object of the chart carries. Takes the root and, for what belongs to one program, its component. */}}
{{- define "agentpods.labels" -}}
{{ include "agentpods.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* By which pods are found. It never changes, for a Deployment's selector may not. */}}
{{- define "agentpods.selector" -}}
app.kubernetes.io/name: agentpods
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* Of what lies in no namespace, where two releases of one name may meet. Workers find their role by it. */}}
{{- define "agentpods.clusterName" -}}
{{ printf "%s-%s" .Release.Namespace .Release.Name | trimPrefix "-" }}
{{- end }}

{{/* Which label value marks what is this installation's. */}}
{{- define "agentpods.installation" -}}
{{- default "agentpods" (get .Values.env "INSTALLATION") -}}
{{- end }}

{{- define "agentpods.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ printf "%s@%s" $image.repository $image.digest }}
{{- else -}}
{{ printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) }}
{{- end -}}
{{- end }}

{{/* `pi=registry/image:tag,…`, in the order of their names. */}}
{{- define "agentpods.engineImages" -}}
{{- $pairs := list -}}
{{- range $engine, $image := .Values.engineImages -}}
{{- $pairs = append $pairs (printf "%s=%s" $engine $image) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end }}

{{- define "agentpods.secretName" -}}
{{- default (printf "%s-settings" .Release.Name) .Values.secret.existing -}}
{{- end }}

{{/* The secrets that are made from values, each base64. */}}
{{- define "agentpods.secretData" -}}
{{- range $name, $value := .Values.secret.values }}
{{ $name }}: {{ $value | b64enc | quote }}
{{- end }}
{{- end }}

{{/* A pod's metadata. It starts anew when secrets made from values change; with a Secret of your own, restart it. */}}
{{- define "agentpods.podMetadata" -}}
labels:
  {{- include "agentpods.labels" . | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := .root.Values.podAnnotations }}
{{- if not .root.Values.secret.existing }}
{{- $annotations = merge (dict "checksum/settings" (include "agentpods.secretData" .root | sha256sum)) $annotations }}
{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What all pods have in common. `account` is drive or observe; without it, the pod has no token. */}}
{{- define "agentpods.podSpec" -}}
{{- $values := .root.Values -}}
{{- if and .account $values.hosting.enabled }}
serviceAccountName: {{ .root.Release.Name }}-{{ .account }}
automountServiceAccountToken: true
{{- else }}
automountServiceAccountToken: false
{{- end }}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10000
  runAsGroup: 10000
  fsGroup: 10000
  seccompProfile:
    type: RuntimeDefault
{{- /* Of each release by itself: pods that an upgrade is about to end would send all new ones to one other node. */}}
topologySpreadConstraints:
  {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "agentpods.selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- /* What a program says of its own stands in place of what is said of all. */}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with get $.program $field | default (get $values $field) }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
volumes:
  - name: tmp
    emptyDir:
      sizeLimit: 256Mi
  {{- if include "agentpods.drills" . }}
  - name: drill
    emptyDir:
      sizeLimit: {{ printf "%dMi" (add (mul (int $values.backups.drillGigabytes) 1024) 512) }}
  {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* What all containers have in common: image, rights, settings, resources. `secret` names the Secret of the settings. */}}
{{- define "agentpods.container" -}}
image: {{ include "agentpods.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities:
    drop: [ALL]
resources:
  {{- toYaml .program.resources | nindent 2 }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if include "agentpods.drills" . }}
  - name: drill
    mountPath: /drill
  {{- end }}
  {{- with .root.Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
envFrom:
  - secretRef:
      name: {{ default (include "agentpods.secretName" .root) .secret }}
env:
  {{- include "agentpods.env" . | nindent 2 }}
{{- end }}

{{- define "agentpods.env" -}}
{{- $values := .root.Values -}}
- name: AGENTPODS_ENV
  value: production
- name: AGENT_RUNTIME
  value: kubernetes
- name: POD_IMAGE
  value: {{ include "agentpods.image" .root | quote }}
- name: ENGINE_IMAGES
  value: {{ include "agentpods.engineImages" .root | quote }}
- name: BASE_URL
  value: {{ printf "https://%s" $values.console.host | quote }}
- name: TRUSTED_PROXIES
  value: {{ join "," $values.console.trustedProxies | quote }}
- name: PLATFORM_DOMAIN
  value: {{ $values.platform.domain | quote }}
- name: EXPECTED_IP
  value: {{ $values.platform.expectedIp | quote }}
- name: OWN_NETWORKS
  value: {{ join "," $values.networkPolicy.ownNetworks | quote }}
- name: DATABASE_POOL_SIZE
  value: {{ .program.databasePoolSize | quote }}
{{- if $values.backups.store }}
- name: BACKUP_STORE
  value: {{ $values.backups.store | quote }}
- name: BACKUP_URL
  value: {{ include "agentpods.backupUrl" .root | quote }}
- name: BACKUP_HOST
  value: 0.0.0.0
- name: BACKUP_PORT
  value: {{ include "agentpods.backupPort" . | quote }}
- name: DRILL_DIRECTORY
  value: /drill
- name: DRILL_MAX_GB
  value: {{ $values.backups.drillGigabytes | quote }}
{{- end }}
- name: HOME
  value: /tmp
- name: PULSE_FILE
  value: {{ include "agentpods.pulseFile" . }}
{{- range $name, $value := $values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- /* Of others the Secret's keys are emptied: an entry here goes before one of the Secret. */}}
{{- $withheld := list "BACKUP_ACCESS_KEY" "BACKUP_ACCESS_KEY_FILE" "BACKUP_SECRET_KEY" "BACKUP_SECRET_KEY_FILE" }}
{{- if include "agentpods.opensStore" . }}
{{- $withheld = list }}
{{- end }}
{{- range $name := $withheld }}
- name: {{ $name }}
  value: ""
{{- end }}
{{- range $given := $values.extraEnv }}
{{- if not (has $given.name $withheld) }}
{{ toYaml (list $given) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Probes of a program that gives a sign of life (config/pulse.py): seconds to start, minutes it may be silent. The
file of a container that ended lies there still when the next one starts. A node with work to do takes more than a
second, Kubernetes' own limit, to start a program in a container. */}}
{{- define "agentpods.pulse" -}}
startupProbe:
  exec:
    command: [sh, -c, "find {{ include "agentpods.pulseFile" . }} -mmin -1 | grep -q ."]
  periodSeconds: 5
  timeoutSeconds: 10
  failureThreshold: {{ div .starts 5 }}
livenessProbe:
  exec:
    command: [sh, -c, "find {{ include "agentpods.pulseFile" . }} -mmin -{{ .silent }} | grep -q ."]
  periodSeconds: 30
  timeoutSeconds: 10
  failureThreshold: 2
{{- end }}

{{/* Where the endpoint of backups is reached by pods. */}}
{{- define "agentpods.backupUrl" -}}
{{- default (printf "http://%s-backups.%s.svc:%s" .Release.Name .Release.Namespace (include "agentpods.backupPort" .)) .Values.backups.url -}}
{{- end }}

{{- define "agentpods.backupPort" -}}8300{{- end }}

{{/* Whether a program has the keys of the bucket: the endpoint, and workers, which alone take something out of it. */}}
{{- define "agentpods.opensStore" -}}
{{- if or (eq "backups" (default "" .component)) (hasPrefix "worker" (default "" .component)) }}yes{{ end -}}
{{- end }}

{{/* Whether a program holds drills: it takes from `default`. */}}
{{- define "agentpods.drills" -}}
{{- if and .root.Values.backups.store (hasPrefix "worker" (default "" .component)) }}yes{{ end -}}
{{- end }}

{{- define "agentpods.pulseFile" -}}/tmp/pulse{{- end }}

{{/* Egress to PostgreSQL, Redis and the names of hosts: what every program needs. */}}
{{- define "agentpods.storesEgress" -}}
{{- $policy := .Values.networkPolicy -}}
{{- include "agentpods.egress" (dict "to" $policy.dns.to "ports" $policy.dns.ports "protocols" (list "UDP" "TCP")) }}
{{ include "agentpods.egress" (dict "to" $policy.database.to "ports" $policy.database.ports) }}
{{ include "agentpods.egress" (dict "to" $policy.redis.to "ports" $policy.redis.ports) }}
{{- end }}

{{/* One rule: these ports of these peers; without peers, these ports anywhere. */}}
{{- define "agentpods.egress" -}}
{{- $protocols := default (list "TCP") .protocols -}}
- ports:
    {{- range $port := .ports }}
    {{- range $protocol := $protocols }}
    - protocol: {{ $protocol }}
      port: {{ $port }}
    {{- end }}
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* Which pods of the release a policy is for. */}}
{{- define "agentpods.podsOf" -}}
matchLabels:
  {{- include "agentpods.selector" (dict "root" .root) | nindent 2 }}
matchExpressions:
  - key: app.kubernetes.io/component
    operator: In
    values: {{ toJson .components }}
{{- end }}

{{/* Of a container that is there for its image alone. */}}
{{- define "agentpods.prePulled" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities:
    drop: [ALL]
resources:
  requests: {cpu: 1m, memory: 4Mi, ephemeral-storage: 1Mi}
  limits: {memory: 16Mi, ephemeral-storage: 8Mi}
{{- end }}
