//! The table of operators and functions that expressions may use, with their types.

/// The operators and functions that rules may use: those of the language, its extensions for strings, lists and optionals, and those of
/// Kubernetes 1.37. `:` starts a function that is not called on its first argument; `A` and `B` are parameters. ` for` lists the
/// words that stand in the place of `$`: a signature with each.
pub(super) const TABLE: &str = r"
    :_==_(A, A) bool
    :_!=_(A, A) bool
    :_<_($, $) bool for bool int uint double string bytes timestamp duration
    :_<_(int, $) bool for uint double
    :_<_(uint, $) bool for int double
    :_<_(double, $) bool for int uint
    :_<=_($, $) bool for bool int uint double string bytes timestamp duration
    :_<=_(int, $) bool for uint double
    :_<=_(uint, $) bool for int double
    :_<=_(double, $) bool for int uint
    :_>_($, $) bool for bool int uint double string bytes timestamp duration
    :_>_(int, $) bool for uint double
    :_>_(uint, $) bool for int double
    :_>_(double, $) bool for int uint
    :_>=_($, $) bool for bool int uint double string bytes timestamp duration
    :_>=_(int, $) bool for uint double
    :_>=_(uint, $) bool for int double
    :_>=_(double, $) bool for int uint
    :_+_($, $) $ for int uint double string bytes duration list(A)
    :_+_(timestamp, duration) timestamp
    :_+_(duration, timestamp) timestamp
    :_-_($, $) $ for int uint double duration
    :_-_(timestamp, timestamp) duration
    :_-_(timestamp, duration) timestamp
    :_*_($, $) $ for int uint double
    :_/_($, $) $ for int uint double
    :_%_($, $) $ for int uint
    :-_($) $ for int double
    :!_(bool) bool
    :@not_strictly_false(bool) bool
    :_?_:_(bool, A, A) A
    :_[_](list(A), int) A
    :_[_](map(A, B), A) B
    :_[_](optional(list(A)), int) optional(A)
    :_[_](optional(map(A, B)), A) optional(B)
    :_[?_](list(A), int) optional(A)
    :_[?_](optional(list(A)), int) optional(A)
    :_[?_](map(A, B), A) optional(B)
    :_[?_](optional(map(A, B)), A) optional(B)
    :@in(A, list(A)) bool
    :@in(A, map(A, B)) bool
    :size(string) int
    string.size() int
    :size(bytes) int
    bytes.size() int
    :size(list(A)) int
    list(A).size() int
    :size(map(A, B)) int
    map(A, B).size() int
    string.$(string) bool for startsWith endsWith contains
    :matches(string, string) bool
    string.matches(string) bool
    :int($) int for int uint double string timestamp duration
    :uint($) uint for uint int double string
    :double($) double for double int uint string
    :string($) string for string bool int uint double bytes timestamp duration IP CIDR
    :bytes($) bytes for bytes string
    :bool($) bool for bool string
    :timestamp($) timestamp for timestamp string int
    :duration($) duration for duration string int
    :dyn(A) dyn
    :type(A) type(A)
    timestamp.$() int for getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek getHours getMinutes getSeconds getMilliseconds
    timestamp.$(string) int for getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek getHours getMinutes getSeconds getMilliseconds
    duration.$() int for getHours getMinutes getSeconds getMilliseconds
    string.charAt(int) string
    string.$(string) int for indexOf lastIndexOf
    string.$(string, int) int for indexOf lastIndexOf
    string.$() string for lowerAscii upperAscii trim
    string.replace(string, string) string
    string.replace(string, string, int) string
    string.split(string) list(string)
    string.split(string, int) list(string)
    string.substring(int) string
    string.substring(int, int) string
    list(string).join() string
    list(string).join(string) string
    string.format(list(dyn)) string
    :strings.quote(string) string
    list($).isSorted() bool for int uint double bool duration timestamp string bytes
    list($).min() $ for int uint double bool duration timestamp string bytes
    list($).max() $ for int uint double bool duration timestamp string bytes
    list($).sum() $ for int uint double duration
    list(A).$(A) int for indexOf lastIndexOf
    list(A).slice(int, int) list(A)
    list(list(A)).flatten() list(A)
    list(dyn).flatten(int) list(dyn)
    list(A).$() list(A) for distinct reverse
    :lists.range(int) list(int)
    list(A).$() optional(A) for first last
    list($).sort() list($) for int uint double bool duration timestamp string bytes
    list(A).@sortByAssociatedKeys(list($)) list(A) for int uint double bool duration timestamp string bytes
    :cel.@mapInsert(map(A, B), A, B) map(A, B)
    :cel.@mapInsert(map(A, B), map(A, B)) map(A, B)
    string.find(string) string
    string.findAll(string) list(string)
    string.findAll(string, int) list(string)
    :url(string) URL
    :isURL(string) bool
    URL.$() string for getScheme getHost getHostname getPort getEscapedPath
    URL.getQuery() map(string, list(string))
    :quantity(string) Quantity
    :isQuantity(string) bool
    Quantity.isInteger() bool
    Quantity.asInteger() int
    Quantity.asApproximateFloat() double
    :sign(Quantity) int
    Quantity.$(Quantity) bool for isGreaterThan isLessThan
    Quantity.compareTo(Quantity) int
    Quantity.add($) Quantity for Quantity int
    Quantity.sub($) Quantity for Quantity int
    :ip(string) IP
    :isIP(string) bool
    :ip.isCanonical(string) bool
    IP.family() int
    IP.$() bool for isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast
    :cidr(string) CIDR
    :isCIDR(string) bool
    CIDR.containsIP($) bool for string IP
    CIDR.containsCIDR($) bool for string CIDR
    CIDR.ip() IP
    CIDR.masked() CIDR
    CIDR.prefixLength() int
    :format.named(string) optional(Format)
    Format.validate(string) optional(list(string))
    :format.$() Format for dns1123Label dns1123Subdomain dns1035Label qualifiedName dns1123LabelPrefix dns1123SubdomainPrefix dns1035LabelPrefix labelValue uri uuid byte date datetime
    :semver(string) Semver
    :semver(string, bool) Semver
    :isSemver(string) bool
    :isSemver(string, bool) bool
    Semver.$() int for major minor patch
    Semver.$(Semver) bool for isGreaterThan isLessThan
    Semver.compareTo(Semver) int
    :sets.$(list(A), list(A)) bool for contains equivalent intersects
    :optional.of(A) optional(A)
    :optional.ofNonZeroValue(A) optional(A)
    :optional.none() optional(A)
    optional(A).hasValue() bool
    optional(A).value() A
    optional(A).or(optional(A)) optional(A)
    optional(A).orValue(A) A
    :jsonpatch.escapeKey(string) string
    Authorizer.path(string) PathCheck
    Authorizer.group(string) GroupCheck
    Authorizer.serviceAccount(string, string) Authorizer
    GroupCheck.resource(string) ResourceCheck
    ResourceCheck.$(string) ResourceCheck for subresource namespace name
    $.check(string) Decision for PathCheck ResourceCheck
    Decision.$() bool for allowed errored
    Decision.$() string for error reason
";
