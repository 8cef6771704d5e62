<?php
// A Laravel application on Debian's php-laravel-framework. It is as small as it can be: the routes of
// routes/api.php with the framework's own kernel, storage and error responses.

require_once 'Illuminate/autoload.php';

use Illuminate\Foundation\Exceptions\Handler;
use Illuminate\Foundation\Http\Kernel;
use Illuminate\Support\Facades\Facade;
use Illuminate\Support\Facades\Route;

$app = new Illuminate\Foundation\Application(__DIR__);
$app->instance('config', new Illuminate\Config\Repository([
    'app' => ['debug' => false],
    'filesystems' => ['default' => 'local', 'disks' => ['local' => ['driver' => 'local', 'root' => __DIR__ . '/storage']]],
    'logging' => ['default' => 'stderr', 'channels' => ['stderr' => [
        'driver' => 'monolog', 'handler' => Monolog\Handler\StreamHandler::class, 'with' => ['stream' => 'php://stderr'],
    ]]],
    'services' => ['waybill' => ['webhook_secret' => env('WAYBILL_WEBHOOK_SECRET')]],
    'view' => ['paths' => [], 'compiled' => __DIR__ . '/storage'],
]));
$app->detectEnvironment(fn () => 'production');
Facade::setFacadeApplication($app);
$app->registerCoreContainerAliases();
$app->register(Illuminate\Filesystem\FilesystemServiceProvider::class);
$app->register(Illuminate\View\ViewServiceProvider::class);
$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Handler::class);
Route::aliasMiddleware('throttle', Illuminate\Routing\Middleware\ThrottleRequests::class);
Route::prefix('api')->middleware('throttle:api')->group(__DIR__ . '/routes/api.php');

return new class($app, $app['router']) extends Kernel {
    protected $bootstrappers = []; // the lines above are instead of the files of an application
};
